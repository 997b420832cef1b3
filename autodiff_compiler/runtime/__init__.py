"""Runs compiled units: loads the text, keeps it, finds the right one and calls it."""
