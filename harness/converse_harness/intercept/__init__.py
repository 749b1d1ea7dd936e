"""Intercept the calls of clients in this process: answer them, forward and capture them, or block them."""
