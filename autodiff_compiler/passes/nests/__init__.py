"""Passes on the loop-nest IR: fusion, contraction of arrays, and the workspace."""
