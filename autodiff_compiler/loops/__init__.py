"""Typed IR to loop nests: a rule for each operator, and the function that applies them.

``lower.lower_to_loops`` is the entry. ``core`` holds the statements that are being built, and how
each value of typed IR is represented; ``rules`` has a table of rules for each family of operators.
The passes that fuse the loops and plan their memory are in ``passes/nests``.
"""
