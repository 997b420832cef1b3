"""Objects of user classes, their attributes, and writes to objects from outside."""
