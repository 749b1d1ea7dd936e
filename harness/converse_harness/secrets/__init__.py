"""Secrets: their kinds, what a person reads of a text, encodings, masks. Every output uses these modules."""
