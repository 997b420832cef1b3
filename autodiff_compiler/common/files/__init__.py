"""Files of Parameters, and files that are replaced as a whole."""
