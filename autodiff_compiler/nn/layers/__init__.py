"""Layers: Cells that compute outputs from inputs, written in ordinary ``construct`` code.

A layer owns settings and Parameters; the mathematics is in ``ops``. Losses are in ``nn.training``.
"""
