"""Checking gradients: sample inputs for every operator, and numeric derivatives."""
