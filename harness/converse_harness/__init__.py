"""A fake Amazon Bedrock Converse endpoint for tests: real, unchanged clients, scripted answers.

The names in `__init__.pyi` are loaded when they are first used, so that importing the package costs nothing.
"""

from converse_harness.imports import lazily

__getattr__, __dir__ = lazily(globals())
