"""Calls: inlined, outlined, recursive, or made while compiling."""
