"""Forward mode: computes tangents beside the values.

operators   the tangent of one operation, from its operator definition
loops       the rule of loops
sweep       the tangent sweep over a function
"""
