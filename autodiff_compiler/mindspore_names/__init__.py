"""MindSpore's public names: which exist here, and what is said of the others."""
