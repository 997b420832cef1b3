"""Questions asked of a program. Answers are passed on as arguments, so none can be stale."""
