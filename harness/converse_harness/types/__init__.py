"""The vocabulary of Strands and of Amazon Bedrock as Python types, a module for each subject.

`content`, `event_loop`, `exceptions`, `guardrails`, `media`, `session`, `streaming`, `tools`, `citations` and `memory`
have the names and fields of the modules of strands-agents that they are called after (`memory`: of
`strands.memory.types`), which need not be installed. Where a field is newer than the pages that they follow, the
docstring says so.

The TypedDicts are `typing.TypedDict`: `get_type_hints` and type checkers read them; pydantic does from Python 3.12 on.
Each name has a strategy in `converse_strategies.strands`, and `hypothesis.strategies.from_type` knows the classes.
"""
