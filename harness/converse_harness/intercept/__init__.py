"""Transports: the ways for a client to reach an Endpoint. A transport only moves bytes."""
