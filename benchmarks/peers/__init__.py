"""The same workloads for each peer, and what runs them in environments of their own.

A peer is its programs (``programs/``) and a runner, a file here. A runner's ``make`` takes a
workload and gives a call without arguments, from the peer's tensors to the peer's tensors, which is
over when it returns. ``arrays`` gives the arrays of an answer in the workload's order, and
``forget`` drops what is compiled.
"""
