"""What every handler is given: the function being lowered, the compilation, its guards."""
