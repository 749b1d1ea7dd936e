"""Limits of Claude that are counted over the whole request."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from converse_harness.bedrock.rules import RuleRequest, refusal_of
from tests.bedrock.rules.asking import SONNET, TEXT, assistant, config, user

POINT = {"cachePoint": {"type": "default"}}
MOST = 4


@given(tools=st.booleans(), system=st.integers(0, 5), first=st.integers(0, 3), last=st.integers(0, 3))
def test_cache_points_are_counted_wherever_they_are(tools: bool, system: int, first: int, last: int) -> None:
    body: dict[str, Any] = {"system": [TEXT, *[POINT] * system]} | config()
    if tools:
        body["toolConfig"]["tools"].append(POINT)
    messages = [user(TEXT, *[POINT] * first), assistant(TEXT), user(TEXT, *[POINT] * last)]
    refusal = refusal_of(RuleRequest("Converse", SONNET, {"messages": messages, **body}))
    places = [
        *["toolConfig.tools[1].cachePoint"] * tools,
        *(f"system[{k}].cachePoint" for k in range(1, system + 1)),
        *(f"messages[0].content[{m}].cachePoint" for m in range(1, first + 1)),
        *(f"messages[2].content[{m}].cachePoint" for m in range(1, last + 1)),
    ]
    if len(places) <= MOST:
        assert refusal is None
    else:
        assert refusal is not None
        assert (refusal.rule.name, refusal.path) == ("claude_has_few_cache_points", places[MOST])
        assert f"Found {len(places)}." in refusal.message
