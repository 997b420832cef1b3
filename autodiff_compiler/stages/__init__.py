"""The stages of a compilation: the driver that runs them, and the steps that take whole programs.

``pipeline.py`` has the list. Rewrites of one function are passes and belong to ``passes``.
"""
