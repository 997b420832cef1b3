"""Order and fusion of operations, for memory traffic. Nothing is differentiated after these.

fuse_products_and_sums   multiply-reduce fusion (``vdot``, ``vecdot``, ``einsum``)
sink_large_results       code sinking: computes large results just before their first use
decompose                decomposition of composite operators
tile_elementwise         loop tiling with elementwise fusion
"""
