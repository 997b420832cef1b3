"""Algebraic simplification: tables of rewrite rules, and the pass that applies them.

simplify_algebra   the pass, and the rules of arithmetic
constant_arrays    arrays of one number
permutations       transposes and other permutations
broadcasting       broadcast operands
gather_scatter     gather and scatter
select             ``where``
zero_blocks        products with blocks of zeros
diagonal_products  products with diagonal matrices
einsum             einsum as matrix products, in a cheap order
softmax            idiom recognition: softmax
"""
