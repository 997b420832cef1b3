"""Passes: plain functions from ``Function`` to ``Function`` that keep its meaning.

A pass leaves its input untouched and returns the same object if it changed nothing.

core           traversal of IR, and pattern rewriting
simplify       fewer or cheaper operations
derivative     rewrites of the operations that differentiation added
loops          loop-invariant code motion, loop fission, stacks for lists
schedule       order and fusion of operations, for memory traffic
destinations   the NumPy calls that can be given a destination (``out=``)
memory         copies, in-place updates, tapes, buffer assignment
nests          rewrites of loop nests, for C
registry       the table of passes
manager        applies passes, some of them up to a fixed point
log            records what each pass changed, for the command line
"""
