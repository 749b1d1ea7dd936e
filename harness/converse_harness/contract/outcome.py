"""What an adapter is given, and what it returns: Target, Outcome, ToolCall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

from converse_harness.errors import ReplyError

if TYPE_CHECKING:
    from converse_harness.intercept.fake import Fake

QUESTION: Final = "What is it like in Zürich?"
"""What the consumer asks."""

MODEL_ID: Final = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
"""Whom it asks."""

TOOL: Final = "get_weather"
TOOL_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
"""The tool that it has, and the JSON Schema of its input."""

TOOL_DESCRIPTION: Final = "The weather in a city."

PATIENT: Final = 30.0
"""Seconds that a consumer may wait where an answer comes."""

SHORT: Final = 0.5
"""Seconds after which it should give up where none comes."""


def _is(value: object, *types: type) -> bool:
    return isinstance(value, types)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the consumer runs, or hands out to be run.

    `input` is a mapping where the consumer has parsed it; a text where it hands out what came, as JSON or not.

    >>> ToolCall("get_weather", {"city": "Bern"})
    ToolCall(name='get_weather', input={'city': 'Bern'})
    """

    name: str
    input: Mapping[str, Any] | str

    def __post_init__(self) -> None:
        """Raises ReplyError for what is no name or no input."""
        if type(self.name) is not str:
            raise ReplyError(f"ToolCall(name={self.name!r}): the name of the tool, a text.")
        if not _is(self.input, Mapping, str):
            raise ReplyError(
                f"ToolCall({self.name!r}, input={self.input!r}): a mapping, or the text that came where the consumer "
                "leaves it unparsed."
            )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the consumer made of an answer.

    `text` is what it shows, with what it had shown before an error; `tool_calls` what it runs, in order; `stop_reason`
    in its own words or AWS's; `error` the exception that it raised, or in another language the name of one. `reasoning`
    is compared only if it is given. Raises ReplyError for other types.

    >>> Outcome("18 °C", stop_reason="end_turn").error is None
    True
    """

    text: str = ""
    tool_calls: Sequence[ToolCall] = ()
    stop_reason: str | None = None
    error: BaseException | str | None = None
    reasoning: str | None = None

    def __post_init__(self) -> None:
        """Raises ReplyError for what is no outcome, so that the adapter's own line says what is wrong with it."""
        for name, value, allowed, expected in (
            ("text", self.text, (str,), 'a text; "" where the consumer shows none'),
            ("tool_calls", self.tool_calls, (list, tuple), "a list of ToolCall(name, input)"),
            ("stop_reason", self.stop_reason, (str, NoneType), "a text; None where the consumer tells none"),
            (
                "error",
                self.error,
                (BaseException, str, NoneType),
                "an exception, or its name; None where none came",
            ),
            ("reasoning", self.reasoning, (str, NoneType), "a text; None where the consumer hands none out"),
        ):
            if not _is(value, *allowed):
                raise ReplyError(f"Outcome({name}={value!r}): {expected}.")
        for number, call in enumerate(self.tool_calls):
            if not _is(call, ToolCall):
                raise ReplyError(f"Outcome(tool_calls=...): number {number} is {call!r}; a ToolCall(name, input).")
        if self.error == "":
            raise ReplyError('Outcome(error=""): the name of the error; None where none came.')


@dataclass(frozen=True, slots=True)
class Target:
    """What the consumer is to ask: a fake, by whatever its door offers, and the question.

    `operation` is Converse or ConverseStream. `patience` is the read timeout, in seconds, that the consumer should be
    given: short where it must give up. A boto client made by the consumer itself is answered by the door "boto".
    """

    fake: Fake
    operation: str
    patience: float = PATIENT

    @property
    def client(self) -> Any:
        """A boto client on the fake, with the target's patience."""
        from botocore.config import Config

        from converse_harness.intercept.clients import create_client

        timeouts = Config(read_timeout=self.patience, connect_timeout=self.patience)
        url = getattr(self.fake, "url", None)
        return create_client(config=timeouts) if url is None else create_client(config=timeouts, endpoint_url=url)

    @property
    def url(self) -> str:
        """The endpoint's URL. Raises ReplyError unless the door is "server"."""
        return str(self._of_the_server("url"))

    @property
    def environ(self) -> dict[str, str]:
        """The variables by which SDKs find the endpoint. Raises ReplyError unless the door is "server"."""
        environ: dict[str, str] = self._of_the_server("environ")
        return environ

    def _of_the_server(self, name: str) -> Any:
        door = "" if self.fake.door is None else self.fake.door.value
        if door != "server":
            raise ReplyError(
                f'target.{name}: a fake behind the door "{door}" has none. Say `door = "server"` in the contract; the '
                "consumer is then asked over a socket."
            )
        return getattr(self.fake, name)

    @property
    def request(self) -> dict[str, Any]:
        """The question with its tool, as the keyword arguments of boto3's `converse` and `converse_stream`."""
        spec = {"name": TOOL, "description": TOOL_DESCRIPTION, "inputSchema": {"json": dict(TOOL_SCHEMA)}}
        return {
            "modelId": MODEL_ID,
            "messages": [{"role": "user", "content": [{"text": QUESTION}]}],
            "toolConfig": {"tools": [{"toolSpec": spec}]},
        }
