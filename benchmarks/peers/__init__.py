"""The same workloads for each peer, a file each, and what runs them in environments of their own.

A runner's file has ``CALLS``: for each workload a maker that takes it and gives a call without
arguments, from the peer's tensors to the peer's tensors, which is over when it returns. ``arrays``
gives the arrays of an answer in the workload's order, and ``forget`` drops what is compiled.
"""
