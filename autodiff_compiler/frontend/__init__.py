"""Lowers Python functions to typed IR, by abstract interpretation with guards: what is known at
compile time is computed, the rest becomes IR. The only package that knows syntax trees.

syntax         the source of a function, the fence, and desugaring
abstract       compile-time values: what a name can mean, and how meanings join
core           the function being lowered, the compilation and its guards
expressions    handlers of expressions
calls          inlining, outlining, recursion, calls at compile time
library        models of Python's and NumPy's functions
statements     assignments and writes
control_flow   branches, loops, exceptions
derivatives    derivatives inside a function, custom rules, hooks
lower          a function and the types of its arguments to typed IR
"""
