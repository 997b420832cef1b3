"""Rewrites of the operations that differentiation added.

reassociate_products   reassociation, and factoring out of sums
factors                the factorisation of a product
share_partial_sums     a sum over more axes adds up one over fewer
reuse_forward_values   rewrites derivatives in terms of saved forward values
write_disjoint_parts   turns scatter-add into store, where regions are disjoint
"""
