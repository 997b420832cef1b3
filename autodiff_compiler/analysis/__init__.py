"""Questions asked of a program. An analysis is an argument of who needs it, so it is never stale."""
