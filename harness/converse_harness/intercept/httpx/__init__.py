"""httpx in this process: a transport for one client, or a route of respx."""
