"""Cases of answers with tool uses. The consumer must run the tools; one case is about a tool that the service runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from converse_harness import reply
from converse_harness.cases.case import MEASURED, RECORDED, Case
from converse_harness.cases.messages import ANSWER, USAGE
from converse_harness.reply.reply import Reply

TOOL: Final = "get_weather"
_IDS: Final = ("tooluse_aaaaaaaaaaaaaaaaaaaaaa", "tooluse_bbbbbbbbbbbbbbbbbbbbbb")


def _tool_stream(*blocks: Mapping[str, Any], stop: str = "tool_use") -> list[Mapping[str, Any]]:
    """Return the events of an answer: `blocks` are the events of its content blocks, `stop` is its stop reason."""
    return [
        {"messageStart": {"role": "assistant"}},
        *blocks,
        {"messageStop": {"stopReason": stop}},
        {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 300}}},
    ]


def _start(index: int, **more: str) -> dict[str, Any]:
    start = {"toolUse": {"toolUseId": _IDS[index], "name": TOOL, **more}}
    return {"contentBlockStart": {"contentBlockIndex": index, "start": start}}


def _input(index: int, part: str) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"toolUse": {"input": part}}}}


def _stop(index: int) -> dict[str, Any]:
    return {"contentBlockStop": {"contentBlockIndex": index}}


def _one_tool(parts: Sequence[str], *, stop: str = "tool_use") -> Reply:
    return reply.events(_tool_stream(_start(0), *(_input(0, part) for part in parts), _stop(0), stop=stop))


_SERVED: Final[Mapping[str, Any]] = {
    "toolUseId": _IDS[0],
    "name": "nova_code_interpreter",
    "type": "server_tool_use",
    "input": {"snippet": "print(9 * 2)"},
}
_SERVED_RESULT: Final[Mapping[str, Any]] = {
    "toolUseId": _IDS[0],
    "type": "nova_code_interpreter_result",
    "status": "success",
    "content": [{"json": {"stdOut": "18\n", "stdErr": "", "exitCode": 0, "isError": False}}],
}
"""The result of `_SERVED`, a use of Nova's code interpreter. Bedrock itself runs this tool."""

_FOR_EVER: Final = 10_000
"""More calls than any consumer makes for one question."""

ANY_INPUT: Final = ("tool_input_fits_its_schema", "strict_tool_gets_its_schema")
"""The rows about inputs of tools, for cases whose input is meant not to fit the schema."""
_NO_INPUT: Final = "Run the tool with an empty input."

TOOL_CASES: Final = (
    Case(
        "tool_fragments",
        "A tool's input arrives in fragments, the first empty, one cut within an escaped letter.",
        'Parse the JSON when the block is complete: {"city": "Zürich"}.',
        "fragments recorded; the escape measured on clients",
        lambda: _one_tool(["", '{"city": "Z\\u00', 'fcrich"}']),
    ),
    Case(
        "tool_one_delta",
        "A tool's input arrives as a whole, as Nova sends it.",
        "Run the tool with its input.",
        RECORDED,
        lambda: reply.tool_use(TOOL, {"city": "Zürich"}, pieces=[json.dumps({"city": "Zürich"}, ensure_ascii=False)]),
    ),
    Case(
        "tool_no_input",
        "A tool has no input: there is no delta.",
        _NO_INPUT,
        "measured on clients; recorded once, of a tool that the service ran",
        lambda: _one_tool([]),
        misfits=ANY_INPUT,
    ),
    Case(
        "tool_empty_delta",
        "A tool's input is one empty delta.",
        _NO_INPUT,
        MEASURED,
        lambda: _one_tool([""]),
        misfits=ANY_INPUT,
    ),
    Case(
        "tool_truncated_json_max_tokens",
        "The tokens end in the middle of a tool's input: its JSON is not complete.",
        "Never run the tool; give the model more tokens, or fail.",
        "measured on clients; max_tokens itself is recorded",
        lambda: _one_tool(['{"city": ', '"Zür'], stop="max_tokens"),
    ),
    Case(
        "tool_input_not_json",
        "A tool's input is not JSON, although the answer is complete.",
        "Never run the tool; tell the model with a tool result of status error.",
        MEASURED,
        lambda: _one_tool(["{city: Zürich}"]),
    ),
    Case(
        "tool_typed",
        'A tool use has the type "tool_use", as newer Claude models send it.',
        "Run the tool; only a tool use of the type server_tool_use was run by the service.",
        RECORDED,
        lambda: reply.events(
            _tool_stream(_start(0, type="tool_use"), _input(0, ""), _input(0, '{"city": "Zürich"}'), _stop(0))
        ),
    ),
    Case(
        "tool_parallel",
        "The model asks for two tools at once.",
        "Run both, and send both results in one message.",
        RECORDED,
        lambda: reply.message(
            {"text": "Let me look at both."},
            {"toolUse": {"name": TOOL, "input": {"city": "Zürich"}}},
            {"toolUse": {"name": TOOL, "input": {"city": "Bern"}}},
        ),
    ),
    Case(
        "tool_interleaved",
        "The deltas of two tools alternate.",
        "Distinguish the blocks by their contentBlockIndex, or treat the stream as broken.",
        MEASURED,
        lambda: reply.events(
            _tool_stream(
                _start(0),
                _start(1),
                _input(0, '{"city": '),
                _input(1, '{"city": '),
                _input(0, '"Zürich"}'),
                _input(1, '"Bern"}'),
                _stop(0),
                _stop(1),
            ),
            strict=False,
        ),
    ),
    Case(
        "tool_but_end_turn",
        "The model asks for a tool, with stop reason end_turn.",
        "Run the tool in any case; otherwise the next request lacks its result and Bedrock refuses it.",
        MEASURED,
        lambda: reply.message({"toolUse": {"name": TOOL, "input": {"city": "Zürich"}}}, stop_reason="end_turn"),
        misfits=("tool_use_is_the_stop_reason",),
    ),
    Case(
        "tool_unknown",
        "The model asks for a tool that it was not offered.",
        "Answer with a tool result of status error, and run nothing.",
        "what models do; not recorded",
        lambda: reply.tool_use("delete_everything", {"sure": True}),
        misfits=("tools_are_offered", "tool_is_offered", "strict_tools_are_the_only_ones"),
    ),
    Case(
        "tool_raises",
        "The model asks for the weather of a city that the tool does not know.",
        "Tell the model with a tool result of status error, or fail; never call the result a success.",
        "ours, similar to the recorded ones",
        lambda: reply.tool_use(TOOL, {"city": "Atlantis"}),
    ),
    Case(
        "tool_for_ever",
        "The model asks for the same tool again after each result, and never ends.",
        "Stop after a number of turns: fail, or return what there is; never go on for ever.",
        "what models do; not recorded",
        lambda: reply.tool_use(TOOL, {"city": "Zürich"}).times(_FOR_EVER),
    ),
    Case(
        "server_tool_nova",
        "Nova has run its code interpreter itself: the tool use and its result are in the answer.",
        "Run nothing and answer no tool use of type server_tool_use; read the text.",
        RECORDED,
        lambda: reply.message({"toolUse": _SERVED}, {"toolResult": _SERVED_RESULT}, {"text": ANSWER}),
        ("ContentBlockDelta.toolResult", "ToolUseBlock.type", "ToolResultBlock.type"),
    ),
)
"""Cases of tools that the consumer has to run, and one case of a tool that the service runs."""
