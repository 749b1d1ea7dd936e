"""Hypothesis strategies for the data of Amazon Bedrock's Converse API: messages, tools, streams and whole replies.

They draw plain dicts of the AWS API. `converse_strategies.strands` has strategies for the types of strands-agents.
`converse_strategies.shapes` has a strategy for any shape of AWS's API model. The names in `__init__.pyi` are loaded
when they are first used, so importing this package takes almost no time. No module has the name of a public strategy:
once it was imported, it would take the place of the strategy.
"""

from converse_harness.imports import lazily

__getattr__, __dir__ = lazily(globals())
