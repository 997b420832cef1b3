"""Emission: prints lowered IR as NumPy source. Nothing here differentiates."""
