"""Doors: the ways for a client to reach an Endpoint. A door only moves bytes."""
