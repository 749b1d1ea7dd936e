"""Strategy for requests that Bedrock refuses. Each request breaks exactly one rule."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Final, NamedTuple

from hypothesis import assume
from hypothesis import strategies as st

from converse_harness.bedrock.models import standing
from converse_harness.bedrock.rules import RULES, refusals_of
from converse_strategies import leaves
from converse_strategies.breaking import BREAKS, breakable
from converse_strategies.leaves import Json, Texts, chosen, composite
from converse_strategies.requests import asked, converse_requests


class Refused(NamedTuple):
    """A request that Bedrock refuses.

    `request` has the keyword arguments of boto3's `converse` or `converse_stream`; `operation` is Converse or
    ConverseStream; `rule` is the name of the broken rule, `message` Bedrock's message. `unmodified` is the request
    before the rule was broken, which Bedrock accepts.

    >>> sound = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    >>> broken = {"modelId": "m", "messages": [{"role": "assistant", "content": [{"text": "hi"}]}]}
    >>> Refused(broken, "Converse", "first_message_is_the_users", "A conversation must start with ...", sound).rule
    'first_message_is_the_users'
    """

    request: Json
    operation: str
    rule: str
    message: str
    unmodified: Json


MODELS: Final = (
    *leaves.MODEL_IDS,
    "us.anthropic.claude-3-7-sonnet-20250219-v1:0",
    "us.anthropic.claude-sonnet-4-20250514-v1:0",
    "us.anthropic.claude-haiku-4-5-20251001-v1:0",
    "us.anthropic.claude-opus-4-6-v1",
    "us.anthropic.claude-opus-4-7",
    "us.anthropic.claude-sonnet-5",
    "us.meta.llama3-3-70b-instruct-v1:0",
    "us.meta.llama4-maverick-17b-instruct-v1:0",
    "meta.llama3-8b-instruct-v1:0",
    "mistral.mistral-7b-instruct-v0:2",
    "us.mistral.pixtral-large-2502-v1:0",
    "us.deepseek.r1-v1:0",
    "amazon.titan-text-express-v1",
    "us.writer.palmyra-x4-v1:0",
    "amazon.nova-micro-v1:0",
    "amazon.nova-pro-v1:0",
    "moonshot.kimi-k2-thinking",
    "qwen.qwen3-235b-a22b-2507-v1:0",
    "us.openai.gpt-6-astra",
    "nvidia.nemotron-nano-12b-v2",
)
"""The models of the drawn requests. Each rule applies to at least one of these models."""

_STREAMED: Final = ("some_stream_no_tools",)
"""The names of the rules that apply only to ConverseStream."""


@composite
def refused_requests(draw: st.DrawFn, *, rules: Collection[str] | None = None, texts: Texts | None = None) -> Refused:
    """Requests that break exactly one of Bedrock's rules, each with Bedrock's message and the `unmodified` request.

    The rule applies to the model of the request. `rules` are names of rules, by default of all rules that refuse
    requests; some rules refuse requests only at the level "strict". `texts` is a strategy for texts. boto's own
    validation accepts every drawn request. Source: `converse_harness.bedrock.rules`, which names the evidence for each
    message. Raises InvalidArgument, when drawn, for an unknown rule.

    >>> from hypothesis import find
    >>> refused = find(refused_requests(rules=["first_message_is_the_users"]), lambda refused: True)
    >>> [message["role"] for message in refused.request["messages"]]
    ['assistant', 'user']
    """
    names = chosen("refused_requests", "rules", rules, breakable())
    rule = draw(st.sampled_from([each for each in RULES if each.name in names]))
    of_rule = [model_id for model_id in MODELS if standing(model_id).id in rule.models]
    stream = rule.name in _STREAMED
    operation = "ConverseStream" if stream else "Converse"
    model_ids = st.sampled_from(of_rule)
    sound = draw(converse_requests(model_ids=model_ids, kinds=["text"], max_turns=1, texts=texts, stream=stream))
    request = copy.deepcopy(sound)
    BREAKS[rule.name](draw, request)
    refusals = list(refusals_of(asked(operation, request), "strict"))
    assume([each.rule for each in refusals] == [rule])
    return Refused(request, operation, rule.name, refusals[0].message, sound)
