"""Calls: inlined, outlined, recursive, or evaluated at compile time."""
