"""Recognise the conversation of a request, and compare the answers that it repeats with those that were sent."""
