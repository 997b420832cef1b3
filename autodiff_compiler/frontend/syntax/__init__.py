"""Python text to a small Python: the source of a function, the language fence, syntax without
special forms."""
