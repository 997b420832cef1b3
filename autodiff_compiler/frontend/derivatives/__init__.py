"""Derivatives inside a function, custom rules and hooks."""
