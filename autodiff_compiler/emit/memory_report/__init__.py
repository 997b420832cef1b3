"""The report of the memory that a forward function saves for the backward function."""
