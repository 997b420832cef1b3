"""Transforms of functions: ``grad``, ``vmap``, custom rules, hooks, recompute."""
