"""The base of functions and operator classes: aliases, shape queries, marks, the base class."""
