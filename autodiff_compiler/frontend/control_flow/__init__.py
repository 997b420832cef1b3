"""Branches, loops and exceptions."""
