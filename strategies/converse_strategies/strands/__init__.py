"""Strategies for every type in Strands' vocabulary, one module per subject.

`content.messages()` draws what `converse_harness.types.content.Message` describes, and so on: plain dicts in Strands'
words, which differ from AWS's (`redactContent`, `interrupt`, indexes that are None, `location` for `s3Location`). For
the dicts of the AWS API, use the strategies of `converse_strategies` itself. `table.TABLE` has them all by name.
"""
