"""The server transport: HTTP/1.1 and HTTP/2 on one loopback port, for clients in any language and process."""
