"""Compile-time values: what a name can mean while a function is lowered, and how meanings join."""
