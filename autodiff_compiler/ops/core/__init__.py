"""What functions and operator classes share: aliases of arguments, questions about shapes, the base
class."""
