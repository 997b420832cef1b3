"""Handlers of statements that assign and write."""
