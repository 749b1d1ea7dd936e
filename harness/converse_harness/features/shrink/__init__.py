"""Shrink: the smallest conversation with which a test still fails in the same way."""
