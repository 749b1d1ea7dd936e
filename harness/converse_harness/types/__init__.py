"""The data types of Strands Agents and Amazon Bedrock as Python types, one module for each subject.

Each module has the names and fields of the module of the same name in strands-agents (`memory` has those of
`strands.memory.types`); strands-agents need not be installed. The modules follow Strands' documentation. If a field is
only in the newer strands-agents 1.62, the docstring states this.

The TypedDicts are `typing.TypedDict`: `get_type_hints` and type checkers can read them. Pydantic can read them from
Python 3.12 on. Each name has a strategy in `converse_strategies.strands`; `hypothesis.strategies.from_type` supports
the classes.
"""
