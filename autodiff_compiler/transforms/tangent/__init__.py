"""Forward mode: computes tangents beside the values.

operators   the tangent of one operation, from its record
loops       tangents of loops
sweep       the tangent sweep over a function
"""
