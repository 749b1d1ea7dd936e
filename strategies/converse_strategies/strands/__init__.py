"""A strategy for every name of Strands' vocabulary, a module for each of its subjects.

`content.messages()` draws what `converse_harness.types.content.Message` describes, and so on: plain dicts in Strands'
words, which differ from AWS's (`redactContent`, `interrupt`, indexes that are None, `location` for `s3Location`). For
what travels over the wire take the strategies of `converse_strategies` itself. `table.TABLE` has them all by name.
"""
