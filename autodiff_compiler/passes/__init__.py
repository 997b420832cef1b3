"""Passes: plain functions from ``Function`` to ``Function``, same meaning, fewer or cheaper ops.

A pass leaves its input untouched and returns the same object where nothing changed.
"""
