"""``python -m autodiff_compiler`` is the command ``autodiff-compiler``."""

import sys

from autodiff_compiler.cli import main

if __name__ == "__main__":
    sys.exit(main())
