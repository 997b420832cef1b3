"""Operator classes: settings first, operands later."""
