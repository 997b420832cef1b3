"""The NumPy calls of an operation that can be given a destination (``out=``).

template_calls    the calls that an operator's template makes
operation_calls   the calls of one operation, with their operands and their destinations
"""
