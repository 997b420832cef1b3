"""Statements from operations: which values are variables, what stands in one expression."""
