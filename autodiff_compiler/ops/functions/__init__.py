"""Functions under MindSpore's names, thin over the operators."""
