"""Loops: operations that leave a loop, and outputs that a loop stacks.

hoist_invariants      loop-invariant code motion
hoist_products        loop fission: the products of all iterations as one product
batch_accumulations   loop fission: a sum of products over iterations as one product
stack_appends         scalar replacement of a list: an append becomes a stacked output
"""
