"""Text of expressions and lines: templates, literals, precedence, line breaks."""
