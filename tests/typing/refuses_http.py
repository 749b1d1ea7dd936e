"""What a checker must catch in code that uses requests and responses."""

from converse_harness.stream.http import Chunk, ConnectionFailure, Request, Response

Request("POST", "/", (), "{}")  # error
Request("POST", "/", {"host": "localhost"}, b"")  # error
Request("POST", "/", ())  # error
Response("200", (), [])  # error
Response(200, (), [b"{}"])  # error
Chunk("text")  # error
Chunk(b"", delay="slow")  # error
ConnectionFailure.RESET  # error
request = Request("POST", "/", (), b"")
request.body = b"changed"  # error
request.path  # error
