"""Clients of other processes: HTTP/1.1 and HTTP/2 on one loopback port, the recording proxy, ASGI, the control API."""
