"""From Python text to typed IR. The only package that has heard of a syntax tree."""
