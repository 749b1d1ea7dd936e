"""A recording as a script: which exchange answers a call, and why none does."""
