"""The version of the package: the build, the command and ``autodiff_compiler`` itself read it."""

__version__ = "0.1.0"
