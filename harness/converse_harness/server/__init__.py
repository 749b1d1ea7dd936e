"""The server, for clients outside the test's process: HTTP/1.1 and HTTP/2, recording proxy, ASGI app, control API."""
