"""Analyses of functions. Their results are passed on as arguments, so none can be out of date."""
