"""Checks of generated gradients: numeric differences, and sample operands for every operator."""

from autodiff_compiler.testing.numeric import Report, check_grads

__all__ = ["Report", "check_grads"]
