"""Statements from operations: each value is a variable or part of an expression."""
