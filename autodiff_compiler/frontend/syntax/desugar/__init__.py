"""Rewrites of the syntax tree: statements that the rest of the front end does not know become ones
that it does."""
