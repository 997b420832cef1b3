"""The base of all passes.

traversal   walks over regions and over all functions that a function calls
patterns    rewrite rules, applied up to a fixed point
"""
