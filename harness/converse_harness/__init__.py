"""A fake Amazon Bedrock Converse endpoint for tests: it sends scripted answers to real, unchanged clients.

The names in `__init__.pyi` are loaded when they are first used, so that the package itself imports quickly.
"""

from converse_harness.imports import lazily

__getattr__, __dir__ = lazily(globals())
