"""The names of MindSpore's API: which there are, and what is said of those that are not here."""
