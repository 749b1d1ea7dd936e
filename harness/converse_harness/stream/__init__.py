"""Events in order and as bytes: the grammar, cutting and joining, frames, and what transports move."""
