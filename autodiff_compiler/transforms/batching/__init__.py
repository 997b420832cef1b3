"""Batching: one function for many examples (``vmap``).

loop_fallback   a loop over the examples, around an operation that has no batching rule
operators       the batching rule of one operation, from its operator definition
sweep           the sweep over a function
"""
