"""Cells: the class, the tree of children and Parameters below a Cell, and its containers."""
