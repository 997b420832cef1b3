"""The operator records, one family per file. Importing this package fills ``OPERATORS``."""
