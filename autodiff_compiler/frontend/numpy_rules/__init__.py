"""Rules of plain NumPy code: implementations of its functions, their arguments, copies and views,
and writes."""
