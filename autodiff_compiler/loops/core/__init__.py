"""The state of a lowering to loop nests, and the representations of values."""
