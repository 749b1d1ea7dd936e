"""`reply.embedding`: vectors for the texts in requests to embedding models."""
