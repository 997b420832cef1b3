"""How generated gradients are held against the truth: numeric differences and sample operands."""

from autodiff_compiler.testing.numeric import Report, check_grads

__all__ = ["Report", "check_grads"]
