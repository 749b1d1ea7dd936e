"""The events of a ConverseStream: their order, their conversion from and to a Message, frames, and HTTP."""
