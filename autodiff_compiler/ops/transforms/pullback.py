"""``vjp`` inside a compiled function: the value of a call and, later, the gradients of that call.

Writes and random draws of the function happen once, in the call.
"""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.ops.transforms.gradient import GradientFunction
from autodiff_compiler.ops.transforms.transformed import Transformed


class Pullback(Transformed):
    """A function of the inputs that returns the value, and the function from sensitivity to
    gradients."""

    suffix, phrase = "pullback", "pullback of"

    def __init__(self, gradient: GradientFunction):
        self.fn, self.gradient = gradient.fn, gradient


class Pulled(Transformed):
    """A function from a sensitivity to the gradients of a call that the front end knows."""

    suffix, phrase = "pulled", "gradients of a call of"

    def __init__(self, gradient: GradientFunction, called: Any):
        self.fn, self.gradient, self.called = gradient.fn, gradient, called
