"""The methods of ``Tensor``."""
