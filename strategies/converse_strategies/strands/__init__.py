"""Strategies for every type in `converse_harness.types`, the types of Strands Agents; the modules have the same names
as there.

For example, `content.messages()` draws values of the type `converse_harness.types.content.Message`. The values are
plain dicts in Strands' format. Unlike AWS's format, it has `redactContent`, the stop reason `interrupt`, indexes that
are None, and `location` instead of `s3Location`. For dicts of the AWS API, use the strategies in `converse_strategies`
itself. `table.TABLE` contains all strategies of this package by the name of the type.
"""
