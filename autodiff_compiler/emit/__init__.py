"""From lowered IR to text: names, expression trees, lines. Nothing here differentiates."""
