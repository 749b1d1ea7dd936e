"""The catalogue: named situations that a consumer of Bedrock's answers must survive, each a Case.

Generated from the tables of errors, wordings, faults, policies and AWS's model, so what is new there is new here. A
case is in it if the installed botocore can read what it sends. The table is made when it is first looked at.

>>> from converse_harness.cases import CASES
>>> CASES["overflow_pre"].reply
<Reply ValidationException (400) "Input is too long for requested model.">
>>> CASES["tool_truncated_json_max_tokens"].must
'Never run the tool; give the model more tokens, or fail.'
"""

from converse_harness.cases.case import Case
from converse_harness.cases.catalogue import CASES, UnknownCase

__all__ = ["CASES", "Case", "UnknownCase"]
