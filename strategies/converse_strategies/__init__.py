"""Hypothesis strategies for the data of Amazon Bedrock's Converse API: messages, tools, streams and whole replies.

They draw plain dicts of the AWS API. Strategies for Strands' types are in `converse_strategies.strands`, a strategy for
any shape of AWS's model in `converse_strategies.shapes`. The names in `__init__.pyi` are loaded when they are first
used, so that importing the package costs nothing.
"""

from converse_harness.imports import lazily

__getattr__, __dir__ = lazily(globals())
