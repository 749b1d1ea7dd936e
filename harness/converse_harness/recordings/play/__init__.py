"""Play a recording: find the exchange for a request, and explain why there is none."""
