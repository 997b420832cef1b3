"""Measurements. Every figure is a ratio of two things timed in turn in one process."""
