"""Ways to differentiate and to batch: ``grad``, ``vmap``, custom rules, hooks, recompute."""
