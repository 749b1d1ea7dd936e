"""Streams as events and as bytes: the order of events, cutting and joining messages, frames, and HTTP messages."""
