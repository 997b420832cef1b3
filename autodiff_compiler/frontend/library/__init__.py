"""Models of Python's and NumPy's libraries."""
