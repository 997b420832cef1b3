"""Plain records between the compiler and the run time."""
