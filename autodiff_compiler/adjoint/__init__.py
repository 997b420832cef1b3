"""Differentiation as IR to IR: the reverse sweep and its cut, and the tangent sweep.

cotangents  what is known so far of each value's cotangent, region by region
residuals   the cut: what a backward region reads of a forward one
control     the mirror of if, for, while and call
rules       what the user says a derivative is
checkpoints the mirror of a loop that keeps few states
reverse     the sweep over plain operations; gradients and pairs of halves of whole functions
shares      the tangent of one operation, from its record
forward_loops   loops in the tangent sweep
forward     the tangent sweep over whole functions
examples    a loop over a batch, around an operation that cannot take it whole
spread      one operation for a batch, as its record says
batching    a function for a batch, out of the function for one example
expand      replaces ``grad``, ``jvp`` and ``vmap``, so that all can be differentiated again
"""
