"""Handlers of expressions."""
