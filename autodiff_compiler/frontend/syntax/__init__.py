"""Python source to a small Python: the source of a function, the supported subset, desugaring."""
