"""The server for clients in other processes: HTTP/1.1 and HTTP/2 on one port, recording proxy, ASGI, control API."""
