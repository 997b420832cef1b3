"""The state of lowering: the function being lowered, the compilation, its guards."""
