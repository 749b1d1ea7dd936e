"""Texts, names and JSON values like those that models send, as data, and the reading of drawn bytes as such values."""
