"""Derivatives of IR: reverse mode, forward mode and batching. Rewrites that keep the meaning of a
function are in ``passes``.

reverse               the reverse sweep, and its partition into a forward and a backward function
tangent               the tangent sweep (forward mode)
batching              makes a function for many examples of one for a single example (``vmap``)
share_pullbacks       one forward pass for a call and the pullbacks at its operands
expand_derivatives    replaces ``grad``, ``jvp`` and ``vmap``, so that all can be differentiated
again
"""
