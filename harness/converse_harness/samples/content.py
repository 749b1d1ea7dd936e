"""Content of the sample conversation: its tool, how that is used and answered, text, images, documents, video."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

_NAME: Final = "get_weather"
ID: Final = "tooluse_8Kf2mXq0RtWvY3hNcLbP5A"


def json_schema() -> dict[str, Any]:
    """The input of the tool: a city, and for how many days."""
    return {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Name of the city"},
            "days": {"type": "integer", "description": "Days from today", "minimum": 1, "maximum": 7},
        },
        "required": ["city"],
    }


def spec() -> dict[str, Any]:
    """What the model is told of the tool; the AWS API and Strands take it as it is."""
    return {
        "name": _NAME,
        "description": "Get the weather forecast for a city.",
        "inputSchema": {"json": json_schema()},
    }


def strict_spec() -> dict[str, Any]:
    """The same, and the model must keep to the schema."""
    schema = {**json_schema(), "additionalProperties": False}
    return {**spec(), "inputSchema": {"json": schema}, "strict": True}


def tool() -> dict[str, Any]:
    """The specification under its tag."""
    return {"toolSpec": spec()}


def _tool_use_input() -> dict[str, Any]:
    """What the model asks the tool."""
    return {"city": "Zürich", "days": 2}


def tool_use() -> dict[str, Any]:
    """The model asks for the forecast."""
    return {"toolUseId": ID, "name": _NAME, "input": _tool_use_input()}


def _forecast() -> dict[str, Any]:
    """What the tool answers."""
    days = [{"day": "Saturday", "high": 12, "sky": "rain"}, {"day": "Sunday", "high": 17, "sky": "sunny"}]
    return {"city": "Zürich", "forecast": days}


def result_content() -> dict[str, Any]:
    """The forecast as JSON."""
    return {"json": _forecast()}


def result_status() -> str:
    """It worked."""
    return "success"


def result() -> dict[str, Any]:
    """The result of the tool use."""
    return {"toolUseId": ID, "content": [result_content()], "status": result_status()}


def choice_auto() -> dict[str, Any]:
    """It has no members."""
    return {}


def choice_any() -> dict[str, Any]:
    """It has no members."""
    return {}


def choice_tool() -> dict[str, Any]:
    """The tool that must be used."""
    return {"name": _NAME}


def choice_auto_dict() -> dict[str, Any]:
    """A tool or none."""
    return {"auto": choice_auto()}


def choice_any_dict() -> dict[str, Any]:
    """Some tool."""
    return {"any": choice_any()}


def choice_tool_dict() -> dict[str, Any]:
    """This tool."""
    return {"tool": choice_tool()}


def config() -> dict[str, Any]:
    """The tools of a request."""
    return {"tools": [tool()], "toolChoice": choice_auto_dict()}


def system_tool() -> dict[str, Any]:
    """A tool of the service's own."""
    return {"name": "nova_grounding"}


def reference() -> dict[str, Any]:
    """A tool that is added or removed on the way."""
    return {"tool": {"type": "tool_reference", "name": _NAME}}


def _get_weather(tool_use: Any, **kwargs: Any) -> Any:
    """The tool: whatever it is asked, the forecast for Zürich."""
    return {**result(), "toolUseId": tool_use["toolUseId"]}


def function() -> Any:
    """The tool as a function."""
    return _get_weather


def agent_tool() -> Any:
    """The tool as an object that runs."""
    from converse_harness.types.tools import FunctionTool

    return FunctionTool(cast("Any", spec()), _get_weather)


def handler() -> Any:
    """What runs tool uses."""
    from converse_harness.types.tools import run_tools

    return run_tools(agent_tool())


def generator() -> Any:
    """The tool at work: it yields the result."""
    return agent_tool().stream(tool_use(), {})


def context() -> Any:
    """What the tool is told beside its input."""
    from converse_harness.types.tools import ToolContext

    return ToolContext(tool_use=cast("Any", tool_use()), agent=None, invocation_state={"booking": "BK-482913"})


TRAVELLER: Final = "Judith Foster"
_QUESTION: Final = "What should I pack for two days in Zürich?"
LOOK_FIRST: Final = "Let me look at the forecast for Zürich."
_ANSWER: Final = "Pack a rain jacket: it rains on Saturday, at 12 °C. Sunday will be sunny, at 17 °C."
_SYSTEM: Final = "You help travellers. Look at the forecast before you tell them what to pack."


def user_role() -> str:
    """Who asks."""
    return "user"


def text_block() -> dict[str, Any]:
    """A text."""
    return {"text": LOOK_FIRST}


def message() -> dict[str, Any]:
    """The model looks at the forecast: a text and a tool use. It can be streamed."""
    return {"role": "assistant", "content": [text_block(), {"toolUse": tool_use()}]}


def question() -> dict[str, Any]:
    """What the traveller asks."""
    return {"role": user_role(), "content": [{"text": _QUESTION}]}


def _tool_message() -> dict[str, Any]:
    """What the tool answers."""
    return {"role": user_role(), "content": [{"toolResult": result()}]}


def _answer() -> dict[str, Any]:
    """What the model answers in the end."""
    return {"role": "assistant", "content": [{"text": _ANSWER}]}


def messages() -> list[dict[str, Any]]:
    """The whole conversation: the question, the tool use, its result, the answer."""
    return [question(), message(), _tool_message(), _answer()]


def system_block() -> dict[str, Any]:
    """The system prompt."""
    return {"text": _SYSTEM}


def cache_point() -> dict[str, Any]:
    """Up to here the request may be cached."""
    return {"type": "default"}


def guard_text() -> dict[str, Any]:
    """The question, for a guardrail to look at."""
    return {"text": _QUESTION, "qualifiers": ["query"]}


def guard_content() -> dict[str, Any]:
    """The same under its tag."""
    return {"text": guard_text()}


def reasoning_text() -> dict[str, Any]:
    """What the model thinks before it looks, signed."""
    return {"text": "They did not say which days. I take the weekend.", "signature": "RXhhbXBsZVNpZ25hdHVyZQ=="}


def reasoning() -> dict[str, Any]:
    """The same under its tag."""
    return {"reasoningText": reasoning_text()}


def start_tool_use() -> dict[str, Any]:
    """The tool use begins."""
    return {"toolUseId": ID, "name": _NAME}


def start() -> dict[str, Any]:
    """The same under its tag."""
    return {"toolUse": start_tool_use()}


def delta() -> dict[str, Any]:
    """A piece of a text."""
    return {"text": LOOK_FIRST[:15]}


def indexed_delta() -> dict[str, Any]:
    """A piece of the block of this index."""
    return {"contentBlockIndex": 0, "delta": delta()}


def stop() -> dict[str, Any]:
    """The block of this index is complete."""
    return {"contentBlockIndex": 0}


RULES: Final = """\
Baggage rules

One bag of up to 8 kg may be taken into the cabin. Skis are carried in the hold and count as one bag.

Umbrellas are allowed in the cabin.
"""
"""The text of the sample document; the citations quote it."""

DOCUMENT_NAME: Final = "Baggage rules"


def document() -> dict[str, Any]:
    """The baggage rules, to be cited."""
    return {
        "format": document_format(),
        "name": DOCUMENT_NAME,
        "source": document_source(),
        "citations": citations_config(),
    }


def document_format() -> str:
    """Its format."""
    return "txt"


def document_source() -> dict[str, Any]:
    """Its bytes."""
    return {"bytes": RULES.encode()}


def citations_config() -> dict[str, Any]:
    """Citations are asked for."""
    return {"enabled": True}


def image() -> dict[str, Any]:
    """A PNG image."""
    return {"format": image_format(), "source": image_source()}


def image_format() -> str:
    """Its format."""
    return "png"


def image_source() -> dict[str, Any]:
    """A sky of 8 x 8 pixels: grey above, blue below."""
    return {"bytes": png([color * 8 for color in [b"\x9a\xa0\xa6"] * 4 + [b"\x4a\x90\xd9"] * 4])}


def png(rows: Sequence[bytes]) -> bytes:
    r"""A PNG of rows of pixels, 3 bytes each: red, green and blue.

    >>> png([b"\0\0\0"])[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    header = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    chunks: Mapping[bytes, bytes] = {b"IHDR": header, b"IDAT": pixels, b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(_png_chunk(kind, data) for kind, data in chunks.items())


def video() -> dict[str, Any]:
    """An MP4 video."""
    return {"format": video_format(), "source": video_source()}


def video_format() -> str:
    """Its format."""
    return "mp4"


def video_source() -> dict[str, Any]:
    """The boxes that an MP4 file begins with; there is no picture in it."""
    brands = b"isom" + struct.pack(">I", 512) + b"isomiso2mp41"
    return {"bytes": b"".join(struct.pack(">I", 8 + len(data)) + kind + data for kind, data in _mp4(brands).items())}


def audio() -> dict[str, Any]:
    """A WAV file."""
    return {"format": "wav", "source": {"bytes": wav()}}


def wav() -> bytes:
    """10 ms of silence, 8 kHz, 16 bit, one channel."""
    data = bytes(160)
    form = struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _mp4(brands: bytes) -> Mapping[bytes, bytes]:
    return {b"ftyp": brands, b"free": b"", b"mdat": b""}


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
