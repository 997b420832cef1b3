"""The lowering rules of operators, a module for each family.

A rule is a function ``rule(low, op)``. It adds statements to ``low`` and sets the results of
``op``. Every module has a table ``RULES`` from the operator's name to its rule.
"""
