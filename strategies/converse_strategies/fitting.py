"""Draw an answer that fits a request: what Bedrock could answer to it, by the table `converse_harness.bedrock.fit`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, Final

from hypothesis import assume
from hypothesis import strategies as st

from converse_harness import bedrock, reply
from converse_harness.bedrock.fit import FREE_STOPS, Answer, ids_in, misfits_of
from converse_harness.bedrock.rules import RuleRequest
from converse_harness.json_values import member_of, object_of
from converse_harness.reply.body import KEYWORDS, METADATA
from converse_harness.reply.reply import Reply
from converse_harness.stream.chunk import default_stop_reason, estimate_tokens
from converse_strategies.basics import Json, Texts, sampled
from converse_strategies.json_schema import schema_values
from converse_strategies.message.answer_end import TAIL_SIZE, draw_stop_reason, read_options
from converse_strategies.message.blocks import Block, contents
from converse_strategies.message.citation import citations_content_blocks
from converse_strategies.message.tools import draw_tool_use
from converse_strategies.observing import tell_answer
from converse_strategies.streams import chunkings

_TAILS: Final = st.binary(min_size=TAIL_SIZE, max_size=TAIL_SIZE)
_IN_EVENTS: Final = st.booleans()
_FEW: Final = st.integers(0, 2)
_DROPPED: Final = ("usage", "trace", "additionalModelResponseFields", "performanceConfig", "serviceTier")
"""The members of an answer that are left out if they do not fit. Without its own usage, the fake computes one."""


def request_of(request: Mapping[str, Any]) -> RuleRequest:
    """Return keyword arguments of boto3's `converse` in the form in which the table reads a request.

    A member that only ConverseStream has, such as `streamProcessingMode`, is kept.
    """
    body = {name: value for name, value in request.items() if name != "modelId"}
    return RuleRequest("ConverseStream", str(request["modelId"]), json.loads(bedrock.to_json("ConverseRequest", body)))


@dataclass(frozen=True, slots=True)
class FittingDraw:
    """One draw of an answer to the request `asked`; `given` are the arguments of boto3 from which it was made."""

    draw: st.DrawFn
    asked: RuleRequest
    given: Mapping[str, Any]
    texts: Texts | None

    def answer(
        self, kinds: tuple[str, ...], max_blocks: int | None, stop_reasons: st.SearchStrategy[str] | None
    ) -> Reply:
        """Draw a Reply. If no answer of these kinds fits, it is empty."""
        content = self._content(kinds, max_blocks)
        options = read_options(self.draw, self.draw(_TAILS))
        reason = self._reason(content, options, stop_reasons)
        for name in _DROPPED:
            if name in options and not self._fits(content, reason, {name: options[name]}):
                del options[name]
        assume(self._fits(content, reason, options))
        tell_answer(content, reason)
        if self.draw(_IN_EVENTS) and content and ("usage" in options or reason != "max_tokens"):
            return reply.events([*self._events(content, reason, options)])
        named = {KEYWORDS.get(name, name): value for name, value in options.items()}
        return reply.message(*content, stop_reason=reason, **named)

    def _fits(self, content: Sequence[Block], reason: str, options: Mapping[str, Any]) -> bool:
        answer = Answer(content, reason, options, estimate_tokens(content))
        return not any(True for _ in misfits_of(self.asked, answer))

    def _may_have(self, kind: str) -> bool:
        return self._fits([{kind: {}}], FREE_STOPS[0], {})

    def _content(self, kinds: tuple[str, ...], max_blocks: int | None) -> list[Block]:
        tools = [each for each in self.given.get("toolConfig", {}).get("tools", ()) if "toolSpec" in each]
        choice = object_of(self.asked.tool_config.get("toolChoice"))
        name = member_of(choice, "tool", "name")
        forced = [each for each in tools if name in (None, each["toolSpec"]["name"])]
        if ("any" in choice or name is not None) and forced and "toolUse" in kinds:
            return self._uses(forced, at_least=1)
        formatted = self._formatted()
        uses = self._uses(tools, at_least=0) if tools and "toolUse" in kinds else []
        if formatted is not None and not uses:
            return formatted
        plain = tuple(kind for kind in kinds if kind == "text" or (kind in _PLAIN and self._may_have(kind)))
        blocks = self.draw(contents(plain, self.texts, 0, max_blocks)) if plain else []
        # `answer` would reject signatures and ids that do not fit; then every fifth to seventh draw was thrown away.
        if not self._fits([_SIGNED], FREE_STOPS[0], {}):
            blocks = [*map(_unsigned, blocks)]
        cited = self._cited() if "citationsContent" in kinds else []
        return [*blocks, *cited, *uses]

    def _uses(self, tools: Sequence[Json], at_least: int) -> list[Block]:
        most = 1 if member_of(self.asked.fields, "tool_choice", "disable_parallel_tool_use") else 2
        number = max(at_least, min(most, self.draw(_FEW)))
        uses = [draw_tool_use(self.draw, self.draw(sampled(tuple(tools))), self.texts) for _ in range(number)]
        taken = set[str]().union(*(each.once(ids_in) for each in self.asked.items_of_body.messages))
        for use in uses:
            drawn = use["toolUseId"]
            others = (f"{drawn[:60]}{index}" for index in count())
            use["toolUseId"] = next(name for name in chain((drawn,), others) if name not in taken)
            taken.add(use["toolUseId"])
            use.pop("type", None)
        return [{"toolUse": use} for use in uses]

    def _formatted(self) -> list[Block] | None:
        """Draw the text of the format that the request asks for; None if it asks for none."""
        text = member_of(self.asked.body, "outputConfig", "textFormat", "structure", "jsonSchema", "schema")
        if not isinstance(text, str):
            return None
        return [{"text": json.dumps(self.draw(schema_values(json.loads(text))), ensure_ascii=False)}]

    def _cited(self) -> list[Block]:
        """Draw at most one text with citations of a document or search result that may be cited."""
        sources = [*self._sources()]
        if not sources or not self.draw(_IN_EVENTS):
            return []
        index, source = self.draw(sampled(tuple(sources)))
        block = self.draw(citations_content_blocks(document=source, index=index, texts=self.texts))
        return [{"citationsContent": block}]

    def _sources(self) -> Iterator[tuple[int, Json]]:
        for kind in ("document", "searchResult"):
            there = [block[kind] for each in self.given["messages"] for block in each["content"] if kind in block]
            for index, each in enumerate(there):
                if each.get("citations", {}).get("enabled"):
                    yield index, each

    def _reason(self, content: Sequence[Block], options: Json, stop_reasons: st.SearchStrategy[str] | None) -> str:
        reason = draw_stop_reason(self.draw, "replies", content, options, stop_reasons, None)
        if stop_reasons is None and not self._fits(content, reason, {}):
            whole = default_stop_reason(content)
            return whole if self._fits(content, whole, {}) else "max_tokens"
        return reason

    def _events(self, content: list[Block], reason: str, options: Mapping[str, Any]) -> Iterator[Json]:
        *events, stop, metadata = self.draw(chunkings({"role": "assistant", "content": content}))
        more = {name: value for name, value in options.items() if name in METADATA}
        extra = {name: value for name, value in options.items() if name not in METADATA}
        yield from events
        yield {"messageStop": {**stop["messageStop"], "stopReason": reason, **extra}}
        yield {"metadata": {**metadata["metadata"], "usage": _ONE_TOKEN, **more}}


def _unsigned(block: Block) -> Block:
    """Return a block without the signature of its reasoning."""
    text = member_of(block, "reasoningContent", "reasoningText", "text")
    return block if text is None else {"reasoningContent": {"reasoningText": {"text": text}}}


_SIGNED: Final[Block] = {"reasoningContent": {"reasoningText": {"text": "a", "signature": "a"}}}

_ONE_TOKEN: Final = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
"""The usage of exact events, if none was drawn that fits: no request has a smaller `maxTokens`."""

_PLAIN: Final = ("reasoningContent",)
"""The kinds of blocks, besides texts, that need no part of the message to which they belong."""
