"""Bytes: event-stream frames, HTTP requests and response heads. Knows AWS's model, no sockets."""
