"""The format of a recording: lines, shared parts, media, exchanges; reading and checking it."""
