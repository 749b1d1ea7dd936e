"""Fifty bugs, ten in each consumer: a name, the lines that it changes, and what goes wrong.

A bug is a change of the source, so a consumer stays as one would write it. `load` compiles a consumer with a bug.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

from converse_harness import StreamOrderError
from converse_harness.json_values import equal
from tests.planted.answers import Answer, Event, right

Read = Callable[[Iterable[Event]], Answer]

CONSUMERS: Final = ("fold", "states", "lines", "pipeline", "typed")
_FOLDER: Final = Path(__file__).with_name("consumers")


@dataclass(frozen=True)
class Bug:
    """One bug of one consumer; `changes` are pairs of a text that stands there once, and what replaces it."""

    consumer: str
    name: str
    about: str
    changes: tuple[tuple[str, str], ...]


def load(consumer: str, bug: Bug | None = None) -> Read:
    """The function `read` of a consumer, with a bug if one is given."""
    read: Read = module(consumer, bug).read
    return read


@cache
def module(consumer: str, bug: Bug | None = None) -> ModuleType:
    """The module of a consumer; with a bug it is a module of its own, which no import finds."""
    name = f"tests.planted.consumers.{consumer}"
    if bug is None:
        return importlib.import_module(name)
    path = _FOLDER / f"{consumer}.py"
    source = path.read_text(encoding="utf-8")
    for old, new in bug.changes:
        if source.count(old) != 1:
            raise ValueError(f"{bug.name}: {old!r} stands {source.count(old)} times in {path.name}, not once")
        source = source.replace(old, new)
    changed = _Planted(f"{name}_{bug.name}")
    changed.__file__ = str(path)
    with changed:
        exec(compile(source, f"{path.name} with {bug.name}", "exec"), vars(changed))
    return changed


class _Planted(ModuleType):
    """A module that dataclasses find while its source runs."""

    def __enter__(self) -> None:
        import sys

        sys.modules[self.__name__] = self

    def __exit__(self, *_: object) -> None:
        import sys

        del sys.modules[self.__name__]


def agrees(read: Read, events: Iterable[Event]) -> bool:
    """Whether a consumer gives what the reference gives, or both find the stream unreadable."""
    came = list(events)
    try:
        expected: Answer | None = right(came)
    except StreamOrderError:
        expected = None
    try:
        made = read(came)
    except Exception:  # noqa: BLE001 - a bug may raise anything
        return expected is None
    return expected is not None and equal(asdict(made), asdict(expected))


def _bug(consumer: str, name: str, about: str, *changes: tuple[str, str]) -> Bug:
    return Bug(consumer, name, about, changes)


BUGS: Final = (
    _bug(
        "fold",
        "index_as_text",
        "Blocks are sorted by their index as text, so 10 comes before 2.",
        ("sorted(blocks.items())", "sorted(blocks.items(), key=lambda item: str(item[0]))"),
    ),
    _bug(
        "fold",
        "input_of_4096",
        "Only the first 4,096 characters of a tool's input are kept.",
        (
            'block["toolUse"]["input"] += delta["toolUse"]["input"]',
            'block["toolUse"]["input"] = (block["toolUse"]["input"] + delta["toolUse"]["input"])[:4096]',
        ),
    ),
    _bug(
        "fold",
        "no_arguments",
        "A tool without arguments has an empty input, which is not JSON.",
        ("json.loads(text) if text else {}", "json.loads(text)"),
    ),
    _bug(
        "fold",
        "blank_delta",
        "A delta of white space alone is left out.",
        ('block.get("text", "") + delta["text"]', 'block.get("text", "") + (delta["text"].strip() and delta["text"])'),
    ),
    _bug(
        "fold",
        "signature_alone",
        "A signature with no reasoning text before it is left out.",
        ('if "signature" in reasoning:', 'if "signature" in reasoning and "text" in into:'),
    ),
    _bug(
        "fold",
        "redacted_as_text",
        "Redacted reasoning is kept as text.",
        (
            'into["redactedContent"] = reasoning["redactedContent"]',
            'into["redactedContent"] = reasoning["redactedContent"].decode(errors="replace").encode()',
        ),
    ),
    _bug(
        "fold",
        "last_citation",
        "Only the last citation of a block is kept.",
        ('block.setdefault("citations", []).append(delta["citation"])', 'block["citations"] = [delta["citation"]]'),
    ),
    _bug(
        "fold",
        "first_item",
        "Only the first item of each delta of a server tool's result is kept.",
        ('+= delta["toolResult"]', '+= delta["toolResult"][:1]'),
    ),
    _bug(
        "fold",
        "integers_as_floats",
        "Integers are read as floats: beyond 53 bits they change.",
        ("json.loads(text) if", "json.loads(text, parse_int=float) if"),
    ),
    _bug(
        "fold",
        "total_without_cache",
        "The total of the tokens is computed again, without the prompt cache.",
        (
            'end.get("usage"),',
            'end and {**end["usage"], "totalTokens": end["usage"]["inputTokens"] + end["usage"]["outputTokens"]},',
        ),
    ),
    _bug(
        "states",
        "signature_stays",
        "The signature of one block stays for the next one, which has none.",
        ("self.head, self.signature = [], [], {}, None", "self.head = [], [], {}"),
    ),
    _bug(
        "states",
        "items_cleared",
        "The list of items is emptied for the next block, while the last one holds it.",
        (
            "self.pieces, self.items, self.head, self.signature = [], [], {}, None",
            "self.pieces, self.head, self.signature = [], {}, None; self.items.clear()",
        ),
    ),
    _bug(
        "states",
        "cited_text_empty",
        "An empty cited text is treated as missing.",
        ("if self.pieces:", "if said:"),
    ),
    _bug(
        "states",
        "return_at_end",
        "A carriage return at the end of a delta is left out.",
        ("self.pieces.append(value)", 'self.pieces.append(value.removesuffix("\\r"))'),
    ),
    _bug(
        "states",
        "pair_of_surrogates",
        "An escaped surrogate at the end of a delta of a tool's input is replaced before its other half comes.",
        (
            'self.pieces.append(value["input"])',
            'self.pieces.append(__import__("re").sub(r"\\\\ud[89ab][0-9a-f]{2}$", r"\\\\ufffd", value["input"]))',
        ),
    ),
    _bug(
        "states",
        "deltas_200",
        "Only the last 200 deltas of a block are kept.",
        ("{}, None\n", '{}, None\n        self.pieces = __import__("collections").deque((), 200)\n'),
    ),
    _bug(
        "states",
        "additional_at_end_turn",
        "The additional fields are kept only where the turn ends.",
        (
            'more.get("additionalModelResponseFields")',
            'more.get("additionalModelResponseFields") if stopReason == "end_turn" else None',
        ),
    ),
    _bug(
        "states",
        "trace_of_one",
        "Of a trace only its first member is kept.",
        ('self.trace = members.get("trace")', 'self.trace = dict([*members.get("trace", {}).items()][:1]) or None'),
    ),
    _bug(
        "states",
        "type_lost",
        "The type of a server's tool use is lost, so a client runs it.",
        (
            '{**self.head, "input": self._input(said)}',
            '{"toolUseId": self.head["toolUseId"], "name": self.head["name"], "input": self._input(said)}',
        ),
    ),
    _bug(
        "states",
        "status_lost",
        "The status of a server tool's result becomes success.",
        (
            '"toolResult": {**self.head,',
            '"toolResult": {**self.head, **{name: "success" for name in self.head if name == "status"},',
        ),
    ),
    _bug(
        "lines",
        "line_separators",
        "Lines also end at U+2028, U+2029 and U+0085, which JSON need not escape.",
        ("default=_encoded)", "default=_encoded, ensure_ascii=False)"),
        ('_lines("".join(relay(events)))', '_lines("\\n".join([*"".join(relay(events)).splitlines(), "", ""]))'),
    ),
    _bug(
        "lines",
        "index_of_one_digit",
        "Only one digit of an index is read.",
        (r"(?P<index>\d+)", r"(?P<index>\d)"),
    ),
    _bug(
        "lines",
        "input_is_none",
        "A tool without arguments has the input None.",
        ('json.loads(written or "{}")', "json.loads(written) if written else None"),
    ),
    _bug(
        "lines",
        "newlines_changed",
        "The buffer makes a newline of each carriage return, with or without one after it.",
        ("    buffer = io.StringIO()\n", "    buffer = io.StringIO(newline=None)\n"),
        ("io.StringIO(), {}, None", "io.StringIO(newline=None), {}, None"),
    ),
    _bug(
        "lines",
        "numbers_rounded",
        "Numbers of a tool's input are rounded to six places.",
        (
            'json.loads(written or "{}")',
            'json.loads(written or "{}", parse_float=lambda digits: round(float(digits), 6))',
        ),
    ),
    _bug(
        "lines",
        "other_alphabet",
        "Bytes are written in the alphabet for URLs, and read in the usual one.",
        ("base64.b64encode", "base64.urlsafe_b64encode"),
    ),
    _bug(
        "lines",
        "said_nothing",
        "An empty cited text is treated as missing.",
        ('if "said" in block else', "if written else"),
    ),
    _bug(
        "lines",
        "thoughts_stripped",
        "White space around each delta of reasoning is stripped.",
        ('buffer.write(value.get("text", ""))', 'buffer.write(value.get("text", "").strip())'),
    ),
    _bug(
        "lines",
        "text_of_4096",
        "Only the first 4,096 characters of a text are kept.",
        ('return {"text": written}', 'return {"text": written[:4096]}'),
    ),
    _bug(
        "lines",
        "additional_empty",
        "Empty additional fields are treated as missing.",
        ('stop.get("additionalModelResponseFields")', 'stop.get("additionalModelResponseFields") or None'),
    ),
    _bug(
        "pipeline",
        "queue_of_64",
        "The queue has 64 places; items that come while it is full are dropped.",
        ("await queue.put(event)", "queue.full() or queue.put_nowait(event)"),
        ("asyncio.Queue()", "asyncio.Queue(64)"),
    ),
    _bug(
        "pipeline",
        "no_delta_no_block",
        "A block without a delta is left out.",
        ("yield start, deltas\n", "if deltas:\n                    yield start, deltas\n"),
    ),
    _bug(
        "pipeline",
        "last_item",
        "Only the last item of each delta of a server tool's result is kept.",
        ('delta.get("toolResult", [])', 'delta.get("toolResult", [])[-1:]'),
    ),
    _bug(
        "pipeline",
        "nothing_thought",
        "Reasoning with an empty text is treated as a text.",
        (
            "        signatures = [",
            '        if not thought:\n            return {"text": text}\n        signatures = [',
        ),
    ),
    _bug(
        "pipeline",
        "citations_by_title",
        "Of citations with the same title only one is kept.",
        ('"citations": citations}}', '"citations": [*{each.get("title"): each for each in citations}.values()]}}'),
    ),
    _bug(
        "pipeline",
        "usage_as_documented",
        "Members of the usage that AWS does not document are refused.",
        (
            'if "messageStop" not in rest:',
            'if "messageStop" not in rest or "serverToolUsage" in rest.get("metadata", {}).get("usage", {}):',
        ),
    ),
    _bug(
        "pipeline",
        "input_stripped",
        "White space around each delta of a tool's input is stripped.",
        ('delta["toolUse"]["input"] for', 'delta["toolUse"]["input"].strip() for'),
    ),
    _bug(
        "pipeline",
        "stop_from_blocks",
        "An answer with a tool use is treated as if it had stopped for it.",
        (
            'stop["stopReason"],',
            '"tool_use" if any("toolUse" in block for block in content) else stop["stopReason"],',
        ),
    ),
    _bug(
        "pipeline",
        "integers_of_64_bits",
        "Integers are kept in 64 bits.",
        (
            "json.loads(written) if",
            "json.loads(written, parse_int=lambda digits: (int(digits) + 2**63) % 2**64 - 2**63) if",
        ),
    ),
    _bug(
        "pipeline",
        "empty_text",
        "A block of an empty text is left out.",
        (
            "content.append(_finish(start, deltas))",
            'content += [block for block in [_finish(start, deltas)] if block != {"text": ""}]',
        ),
    ),
    _bug(
        "typed",
        "stop_reason_unknown",
        "One of the stop reasons is missing in the model.",
        ('    "model_context_window_exceeded",\n', ""),
    ),
    _bug(
        "typed",
        "nothing_read",
        "A count of 0 tokens from the cache is left out.",
        ("if self.read is not None:", "if self.read:"),
    ),
    _bug(
        "typed",
        "usage_closed",
        "Members of the usage that the model does not name are lost.",
        ("return {**usage, **self.more}", "return usage"),
    ),
    _bug(
        "typed",
        "title_required",
        "A citation without a title is refused.",
        (
            'self.citations.append(_typed(delta, "citation", dict))',
            'self.citations.append(_typed(delta, "citation", dict)); _typed(delta["citation"], "title", str)',
        ),
    ),
    _bug(
        "typed",
        "pieces_shared",
        "All blocks of text share one list.",
        (
            "pieces: list[str] = field(default_factory=list[str])",
            "pieces: list[str] = field(default_factory=lambda shared=[]: shared)",
        ),
        ("stream = Stream()", "TextBlock().pieces.clear(); stream = Stream()"),
    ),
    _bug(
        "typed",
        "unfinished_input",
        "A tool's input that max_tokens cut off is read as no input.",
        ('raise Unreadable("the input of a tool is not whole") from None', "value = {}"),
    ),
    _bug(
        "typed",
        "delta_twice",
        "A delta that equals the one before it is treated as a repetition.",
        (
            'self.pieces.append(_typed(delta, "text", str))',
            'self.pieces += [delta["text"]] if self.pieces[-1:] != [delta["text"]] else []',
        ),
    ),
    _bug(
        "typed",
        "empty_items",
        "Empty items of a server tool's result are left out.",
        (
            'self.items.extend(_typed(delta, "toolResult", list))',
            'self.items.extend(item for item in delta["toolResult"] if all(item.values()))',
        ),
    ),
    _bug(
        "typed",
        "one_call_by_name",
        "Of tool uses with the same name only the last one is kept.",
        (
            "[block.dump() for block in self.blocks]",
            '[*{getattr(each, "head", {}).get("name", id(each)): each.dump() for each in self.blocks}.values()]',
        ),
    ),
    _bug(
        "typed",
        "blank_text",
        "A text of white space alone becomes empty.",
        ('text = "".join(self.pieces)', 'text = "".join(self.pieces)\n        text = "" if text.isspace() else text'),
    ),
)
"""Every bug. What finds them is measured by `python -m tests.planted`."""
