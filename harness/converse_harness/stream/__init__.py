"""Streams as events and as bytes: the grammar of their order, cutting and joining, frames, and HTTP messages."""
