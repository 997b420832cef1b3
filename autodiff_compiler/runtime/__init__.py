"""The run time: finds or compiles the code for a call, runs it and packs the result."""
