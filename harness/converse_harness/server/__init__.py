"""Serving clients of other processes: HTTP/1.1 and HTTP/2 on one loopback port, recording proxy, ASGI, control API."""
