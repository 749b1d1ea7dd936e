"""`reply.improvised`: answers made from the request."""
