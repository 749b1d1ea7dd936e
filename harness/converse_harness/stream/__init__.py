"""Streams of events: the legal order of events, conversion from and to messages, frames, and HTTP messages."""
