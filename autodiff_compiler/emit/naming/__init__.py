"""Names of variables and functions in the printed source."""
