"""Cassettes of vcrpy, read as plain data and made recordings."""
