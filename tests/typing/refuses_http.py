"""What a checker must catch in code that uses requests and responses."""

from converse_harness.stream.http import Chunk, ConnectionFailure, HttpResponse, Request

Request("POST", "/", (), "{}")  # error
Request("POST", "/", {"host": "localhost"}, b"")  # error
Request("POST", "/", ())  # error
HttpResponse("200", (), [])  # error
HttpResponse(200, (), [b"{}"])  # error
Chunk("text")  # error
Chunk(b"", delay="slow")  # error
ConnectionFailure.RESET  # error
request = Request("POST", "/", (), b"")
request.body = b"changed"  # error
request.path  # error
