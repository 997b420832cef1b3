"""Desugaring: rewrites of the syntax tree to the few statements that the rest lowers."""
