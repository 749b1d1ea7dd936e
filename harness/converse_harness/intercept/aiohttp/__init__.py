"""aiohttp in this process: a connection in memory, below all that is aiohttp's own."""
