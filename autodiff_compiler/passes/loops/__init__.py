"""Loops: what can leave the loop, and what it fills.

hoist_invariants      loop-invariant code motion
hoist_products        loop fission: the products of all iterations as one product
batch_accumulations   loop fission: a sum of products over iterations as one product
stack_appends         turns an append loop into one that fills an array
"""
