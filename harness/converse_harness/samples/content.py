"""Content of the sample conversation: tool, tool use and result, text, images, documents, video."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

_NAME: Final = "get_weather"
ID: Final = "tooluse_8Kf2mXq0RtWvY3hNcLbP5A"


def json_schema() -> dict[str, Any]:
    """The sample tool's input schema: a city and a number of days."""
    return {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Name of the city"},
            "days": {"type": "integer", "description": "Days from today", "minimum": 1, "maximum": 7},
        },
        "required": ["city"],
    }


def spec() -> dict[str, Any]:
    """The sample tool's specification, for the AWS API and Strands alike."""
    return {
        "name": _NAME,
        "description": "Get the weather forecast for a city.",
        "inputSchema": {"json": json_schema()},
    }


def strict_spec() -> dict[str, Any]:
    """The sample tool's specification with `strict`: the model must follow the schema."""
    schema = {**json_schema(), "additionalProperties": False}
    return {**spec(), "inputSchema": {"json": schema}, "strict": True}


def tool() -> dict[str, Any]:
    """The specification as an AWS Tool (`toolSpec`)."""
    return {"toolSpec": spec()}


def _tool_use_input() -> dict[str, Any]:
    """The input of the sample tool use."""
    return {"city": "Zürich", "days": 2}


def tool_use() -> dict[str, Any]:
    """A ToolUse: the model asks for the forecast."""
    return {"toolUseId": ID, "name": _NAME, "input": _tool_use_input()}


def _forecast() -> dict[str, Any]:
    """The forecast, as the tool returns it."""
    days = [{"day": "Saturday", "high": 12, "sky": "rain"}, {"day": "Sunday", "high": 17, "sky": "sunny"}]
    return {"city": "Zürich", "forecast": days}


def result_content() -> dict[str, Any]:
    """A ToolResultContent with the forecast as JSON."""
    return {"json": _forecast()}


def result_status() -> str:
    """The status of a successful tool result."""
    return "success"


def result() -> dict[str, Any]:
    """A ToolResult for the sample tool use."""
    return {"toolUseId": ID, "content": [result_content()], "status": result_status()}


def choice_auto() -> dict[str, Any]:
    """A ToolChoiceAuto, which has no members."""
    return {}


def choice_any() -> dict[str, Any]:
    """A ToolChoiceAny, which has no members."""
    return {}


def choice_tool() -> dict[str, Any]:
    """A ToolChoiceTool with the sample tool's name."""
    return {"name": _NAME}


def choice_auto_dict() -> dict[str, Any]:
    """A ToolChoice that leaves tool use to the model."""
    return {"auto": choice_auto()}


def choice_any_dict() -> dict[str, Any]:
    """A ToolChoice that requires any tool."""
    return {"any": choice_any()}


def choice_tool_dict() -> dict[str, Any]:
    """A ToolChoice that requires the sample tool."""
    return {"tool": choice_tool()}


def config() -> dict[str, Any]:
    """The ToolConfig of the sample request."""
    return {"tools": [tool()], "toolChoice": choice_auto_dict()}


def system_tool() -> dict[str, Any]:
    """A Tool that the service runs itself."""
    return {"name": "nova_grounding"}


def reference() -> dict[str, Any]:
    """A reference to a tool that is added or removed during the conversation."""
    return {"tool": {"type": "tool_reference", "name": _NAME}}


def _get_weather(tool_use: Any, **kwargs: Any) -> Any:
    """The sample tool's function: it returns the forecast for Zürich for any input."""
    return {**result(), "toolUseId": tool_use["toolUseId"]}


def function() -> Any:
    """The sample tool as a plain function."""
    return _get_weather


def agent_tool() -> Any:
    """The sample tool as an object that can run."""
    from converse_harness.types.tools import FunctionTool

    return FunctionTool(cast("Any", spec()), _get_weather)


def handler() -> Any:
    """The function that runs tool uses."""
    from converse_harness.types.tools import run_tools

    return run_tools(agent_tool())


def generator() -> Any:
    """The generator of a running tool, which yields the result."""
    return agent_tool().stream(tool_use(), {})


def context() -> Any:
    """The ToolContext that a tool receives besides its input."""
    from converse_harness.types.tools import ToolContext

    return ToolContext(tool_use=cast("Any", tool_use()), agent=None, invocation_state={"booking": "BK-482913"})


TRAVELLER: Final = "Judith Foster"
_QUESTION: Final = "What should I pack for two days in Zürich?"
LOOK_FIRST: Final = "Let me look at the forecast for Zürich."
_ANSWER: Final = "Pack a rain jacket: it rains on Saturday, at 12 °C. Sunday will be sunny, at 17 °C."
_SYSTEM: Final = "You help travellers. Look at the forecast before you tell them what to pack."


def user_role() -> str:
    """The role of the user."""
    return "user"


def text_block() -> dict[str, Any]:
    """A ContentBlock with a text."""
    return {"text": LOOK_FIRST}


def message() -> dict[str, Any]:
    """The assistant's message with a text and a tool use. It can be streamed."""
    return {"role": "assistant", "content": [text_block(), {"toolUse": tool_use()}]}


def question() -> dict[str, Any]:
    """The user's first message."""
    return {"role": user_role(), "content": [{"text": _QUESTION}]}


def _tool_message() -> dict[str, Any]:
    """The user's message with the tool result."""
    return {"role": user_role(), "content": [{"toolResult": result()}]}


def _answer() -> dict[str, Any]:
    """The assistant's last message."""
    return {"role": "assistant", "content": [{"text": _ANSWER}]}


def messages() -> list[dict[str, Any]]:
    """The whole conversation: question, tool use, tool result, answer."""
    return [question(), message(), _tool_message(), _answer()]


def system_block() -> dict[str, Any]:
    """A system content block with a text."""
    return {"text": _SYSTEM}


def cache_point() -> dict[str, Any]:
    """A CachePoint: the request may be cached up to this place."""
    return {"type": "default"}


def guard_text() -> dict[str, Any]:
    """The user's question as a GuardContentText."""
    return {"text": _QUESTION, "qualifiers": ["query"]}


def guard_content() -> dict[str, Any]:
    """The user's question as a GuardContent."""
    return {"text": guard_text()}


def reasoning_text() -> dict[str, Any]:
    """A ReasoningTextBlock with a signature."""
    return {"text": "They did not say which days. I take the weekend.", "signature": "RXhhbXBsZVNpZ25hdHVyZQ=="}


def reasoning() -> dict[str, Any]:
    """A ReasoningContentBlock with text and signature."""
    return {"reasoningText": reasoning_text()}


def start_tool_use() -> dict[str, Any]:
    """A ContentBlockStartToolUse."""
    return {"toolUseId": ID, "name": _NAME}


def start() -> dict[str, Any]:
    """A ContentBlockStart of a tool use."""
    return {"toolUse": start_tool_use()}


def delta() -> dict[str, Any]:
    """A DeltaContent with a piece of a text."""
    return {"text": LOOK_FIRST[:15]}


def indexed_delta() -> dict[str, Any]:
    """A ContentBlockDelta with a block index."""
    return {"contentBlockIndex": 0, "delta": delta()}


def stop() -> dict[str, Any]:
    """A ContentBlockStop with a block index."""
    return {"contentBlockIndex": 0}


RULES: Final = """\
Baggage rules

One bag of up to 8 kg may be taken into the cabin. Skis are carried in the hold and count as one bag.

Umbrellas are allowed in the cabin.
"""
"""The text of the sample document; the citations quote it."""

DOCUMENT_NAME: Final = "Baggage rules"


def document() -> dict[str, Any]:
    """A DocumentContent: baggage rules, with citations enabled."""
    return {
        "format": document_format(),
        "name": DOCUMENT_NAME,
        "source": document_source(),
        "citations": citations_config(),
    }


def document_format() -> str:
    """The sample document's format."""
    return "txt"


def document_source() -> dict[str, Any]:
    """The sample document's source: bytes."""
    return {"bytes": RULES.encode()}


def citations_config() -> dict[str, Any]:
    """A CitationsConfig that enables citations."""
    return {"enabled": True}


def image() -> dict[str, Any]:
    """A PNG image."""
    return {"format": image_format(), "source": image_source()}


def image_format() -> str:
    """The sample image's format."""
    return "png"


def image_source() -> dict[str, Any]:
    """The sample image's source: 8 x 8 pixels of sky, grey above, blue below."""
    return {"bytes": png([color * 8 for color in [b"\x9a\xa0\xa6"] * 4 + [b"\x4a\x90\xd9"] * 4])}


def png(rows: Sequence[bytes]) -> bytes:
    r"""Encode rows of pixels as a PNG; each pixel has 3 bytes: red, green and blue.

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
    """The sample video's format."""
    return "mp4"


def video_source() -> dict[str, Any]:
    """The sample video's source: the first boxes of an MP4 file, without any picture."""
    brands = b"isom" + struct.pack(">I", 512) + b"isomiso2mp41"
    return {"bytes": b"".join(struct.pack(">I", 8 + len(data)) + kind + data for kind, data in _mp4(brands).items())}


def audio() -> dict[str, Any]:
    """A WAV file."""
    return {"format": "wav", "source": {"bytes": wav()}}


def wav() -> bytes:
    """A WAV file with 10 ms of silence: 8 kHz, 16 bit, one channel."""
    data = bytes(160)
    form = struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _mp4(brands: bytes) -> Mapping[bytes, bytes]:
    return {b"ftyp": brands, b"free": b"", b"mdat": b""}


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
