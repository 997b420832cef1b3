"""The base of functions and operator classes: argument aliases, shape queries, the base class."""
