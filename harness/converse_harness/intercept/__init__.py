"""Intercept the clients of this process: answer their calls, forward and capture them, or block them."""
