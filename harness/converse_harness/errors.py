"""All exceptions and warnings of converse-harness. Each direct subclass of ConverseHarnessError stands for a cause.

`ReplyError`: a reply, script or option in the test is wrong. `CallError`: the client under test did something that the
script does not allow. `DamagedData`: bytes or a file violate their format. `TransportError`: a transport cannot open.
`SecretFound`: data that would be written contains a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeVar

from converse_harness.words import shown


class Advice(NamedTuple):
    """A part of an error text in two forms: for tests in Python, and with JSON for callers of the control API."""

    python: str
    json: str


def quoted(value: object) -> Advice:
    """Return the text of a value in Python and in JSON, shortened.

    >>> quoted(True)
    Advice(python='True', json='true')
    """
    return Advice(shown(value), shown(value, in_json=True))


def quoted_whole(value: object) -> Advice:
    """Return the text of a value as `quoted` does, but with its whole repr in Python."""
    return Advice(repr(value), quoted(value).json)


NOTHING: Final = Advice("", "")
"""A part without text, for example that of a value which a message does not show."""


def path_text(path: str, steps: Iterable[str | int]) -> str:
    """Return a path with further steps: the keys and indexes that lead to a part of the value.

    >>> path_text("content", (0, "toolUse", "a key")), path_text("", ("usage", "inputTokens"))
    ("content[0].toolUse['a key']", 'usage.inputTokens')
    """
    for step in steps:
        named = isinstance(step, str) and step.isidentifier()
        path += f"[{step!r}]" if not named else f".{step}" if path else f"{step}"
    return path


class Argument(NamedTuple):
    """An argument of a function, as a part of an error text: the place of the mistake.

    `path` has the keys and indexes from the argument to the wrong part of it. `value` is the wrong value; by default,
    none is shown. `beside` is Python code of other arguments. Without a `name`, the place is the whole call; without a
    `function`, the text names only the argument.

    >>> Argument("tool_use", "id", value="x y").python, Argument(name="usage", path=("totalTokens",)).python
    ("tool_use(id='x y')", 'usage.totalTokens')
    """

    function: str = ""
    name: str = ""
    path: tuple[str | int, ...] = ()
    value: object = NOTHING
    beside: str = ""

    @property
    def place(self) -> str:
        """The name and the path as a text, such as `content[0].toolUse.name`."""
        return path_text(self.name, self.path)

    @property
    def shown(self) -> Advice:
        """The text of the value; empty if none is shown."""
        return self.value if isinstance(self.value, Advice) else quoted(self.value)

    @property
    def python(self) -> str:
        """The text in Python, for example `text(text=5)` or `message(): content[0]`."""
        place, value = self.place, self.shown.python
        given = f"{place}={value}" if value else ""
        if not self.function:
            return given or place
        call = f"{self.function}({', '.join(filter(None, (self.beside, given)))})"
        return call if given or not place else f"{call}: {place}"


def _without_value(part: str | Advice | Argument) -> str | Advice | Argument:
    """Return a part of an error text without the user's value, which may be large or impossible to pickle."""
    return part._replace(value=part.shown) if isinstance(part, Argument) else part


def _anywhere(argument: Argument) -> str:
    """Return the path of an argument if nothing is known of the JSON in which it stands."""
    return ".".join(filter(None, (argument.function, argument.place)))


class Explained:
    """A value that explains, in place of pytest's difference of two values, why an `==` with it failed."""

    __slots__ = ()

    def explain(self) -> list[str]:
        """Return the lines of the explanation."""
        raise NotImplementedError


class ConverseHarnessError(Exception):
    """The base class of all exceptions that converse-harness raises.

    The error text is made of `parts`: texts, the Argument that is wrong, and Advice. It names Python functions and
    arguments; `json_text` makes a text for callers of the control API from the same parts.

    >>> from converse_harness import ConverseHarnessError, reply
    >>> try:
    ...     reply.text("hi").times(0)
    ... except ConverseHarnessError as error:
    ...     type(error).__name__
    'ReplyError'
    """

    def __init__(self, *parts: str | Advice | Argument) -> None:
        self.parts = tuple(_without_value(part) for part in parts)
        super().__init__("".join(part if isinstance(part, str) else part.python for part in self.parts))


def json_text(error: ConverseHarnessError, at: str = "", where: Callable[[Argument], str] = _anywhere) -> str:
    """Return the text of an error for callers of the control API.

    `where` returns the path of an argument in the JSON. If the text does not begin with a path, the path `at` stands
    before it.

    >>> error = ReplyError(Argument("paced", "first", value=-1), ": a pause is 0 or more.")
    >>> json_text(error, where=lambda argument: f"script[0].paced.{argument.place}")
    'script[0].paced.first is -1: a pause is 0 or more.'
    """
    text = f"{at}: " if at and not (error.parts and isinstance(error.parts[0], Argument)) else ""
    for part in error.parts:
        if isinstance(part, Argument):
            text += where(part) + (f" is {part.shown.json}" if part.shown.json else "")
        else:
            text += part if isinstance(part, str) else part.json
    return text


class ReplyError(ConverseHarnessError, ValueError):
    """A reply, script, marker or option is wrong. The error is raised at its definition, before any call uses it.

    >>> from converse_harness import reply
    >>> reply.text("hi").paced(first=-1)
    ReplyError: ...
    """


class StreamOrderError(ReplyError):
    """Stream events are in an order that ConverseStream never sends.

    The error text names the first illegal event, and the events that would be legal in its place.

    >>> from converse_harness import assemble
    >>> assemble([{"messageStop": {"stopReason": "end_turn"}}])
    StreamOrderError: events[0] is messageStop before any messageStart. Legal there: messageStart, an exception frame.
    """


class DamagedData(ConverseHarnessError, ValueError):
    """Bytes or a file violate their format, for example the format of recordings.

    >>> import pathlib, tempfile
    >>> from converse_harness import DamagedData, recording
    >>> file = pathlib.Path(tempfile.mkdtemp(), "hello.jsonl")
    >>> _ = file.write_text("no JSON")
    >>> try:
    ...     recording(file)
    ... except DamagedData as error:
    ...     print("hello.jsonl:1" in str(error))
    True
    """


class CallError(ConverseHarnessError, AssertionError):
    """The client under test did something that the script does not allow. This error fails the test.

    >>> from converse_harness import CallError, fake_converse, reply
    >>> try:
    ...     with fake_converse(reply.text("hi")):
    ...         pass
    ... except CallError as error:
    ...     type(error).__name__
    'UnusedReplies'
    """


class UnexpectedCall(CallError):
    """A call arrived for which the script has no reply.

    >>> import boto3
    >>> from converse_harness import fake_converse
    >>> messages = [{"role": "user", "content": [{"text": "?"}]}]
    >>> with fake_converse():
    ...     boto3.client("bedrock-runtime").converse(modelId="m", messages=messages)
    UnexpectedCall: ...
    """


class RefusedRequest(CallError):
    """A request arrived that Bedrock would refuse.

    The error text contains the broken rule, the path in the request, the message that Bedrock would return, and the
    evidence that Bedrock has this rule. If the body is not JSON, or does not have the structure that AWS's API model
    requires, the error text contains the path in the request and the values that are allowed there.

    >>> import boto3
    >>> from converse_harness import fake_converse, reply
    >>> with fake_converse(reply.text("hi")):
    ...     boto3.client("bedrock-runtime").converse(modelId="m", messages=[{"role": "user", "content": []}])
    RefusedRequest: ...
    """


class NotRefused(CallError):
    """No request in a block `with fake.refuses(rule)` broke this rule. The error text lists the requests that arrived.

    >>> from converse_harness import fake_converse
    >>> with fake_converse() as fake, fake.refuses("first_message_is_the_users"):
    ...     pass
    NotRefused: ...
    """


class ChangedHistory(CallError):
    """A request contains a changed version of an earlier answer of the model. The error text shows both versions.

    >>> import boto3
    >>> from converse_harness import fake_converse, reply
    >>> messages = [{"role": "user", "content": [{"text": "?"}]}]
    >>> with fake_converse(reply.text("It is 18 °C and sunny.").times(2), history="fail"):
    ...     client = boto3.client("bedrock-runtime")
    ...     message = client.converse(modelId="m", messages=messages)["output"]["message"]
    ...     message["content"][0]["text"] = "It is 17 °C and sunny."
    ...     client.converse(modelId="m", messages=[*messages, message, *messages])
    ChangedHistory: ...
    """


class ImpossibleAnswer(CallError):
    """The script answered a request with something that Bedrock never answers to such a request.

    It is raised with the setting `answers="strict"`. The error text contains the line that scripted the answer, the
    part of the request that is missing, and the evidence.

    >>> import boto3
    >>> from converse_harness import fake_converse, reply
    >>> with fake_converse(reply.tool_use("book", {}), answers="strict"):
    ...     messages = [{"role": "user", "content": [{"text": "?"}]}]
    ...     answer = boto3.client("bedrock-runtime").converse(modelId="m", messages=messages)
    ImpossibleAnswer: ...
    """


class NotedCall(CallError):
    """A fake noted something about a call, such as a likely refusal, and the ini setting `converse_notes` is `fail`."""


class StaleRequests(CallError):
    """Requests differ from the recorded requests whose answers they got; the ini setting `converse_stale` is `fail`."""


class ConverseNoteWarning(UserWarning):
    """The warning for a fake's note about a call, if the ini setting `converse_notes` is `warning`."""


class FakeNotOpenWarning(UserWarning):
    """A test adds replies to a fake that is not open, so the fake answers no client.

    >>> import warnings
    >>> from converse_harness import fake_converse, reply
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = fake_converse().script(reply.text("hi"))
    >>> caught[0].category.__name__
    'FakeNotOpenWarning'
    """


class UnusedReplies(CallError):
    """The test ended with scripted replies that no call used, or with a `when` or `refuses` that had no effect.

    >>> from converse_harness import fake_converse, reply
    >>> with fake_converse(reply.text("hi")):
    ...     pass
    UnusedReplies: ...
    """


class BlockedConnection(CallError):
    """While connections to Bedrock were blocked, code tried to reach a Bedrock host in a way that no open fake answers.

    >>> import urllib.request
    >>> from converse_harness import fake_converse
    >>> with fake_converse():
    ...     urllib.request.urlopen("https://bedrock-runtime.us-east-1.amazonaws.com")
    BlockedConnection: ...
    """


class TransportError(ConverseHarnessError):
    """A transport cannot open or work, for example because a library that it patches is not as expected."""


class SecretFound(ConverseHarnessError):
    """An exchange was not written, because it contains a secret that cannot be masked.

    The error text contains the place and the kind of the secret. The other exchanges of the recording are written.
    """


class JournalWarning(UserWarning):
    """A recording has no journal, so a killed process loses its calls; or a journal is left of a killed process."""


class MaskedSecretWarning(UserWarning):
    """A recording has `***` in place of a secret, so the replayed value differs from the real one."""


_Name = TypeVar("_Name", bound=str)


def one_of(setting: str, value: object, known: Mapping[_Name, str]) -> _Name:
    """Return `value` if it is a key of `known`, which maps allowed values to their meanings.

    Raises ReplyError otherwise; the error text names the `setting`.

    >>> one_of("failed", "drop", {"write": "as if it had passed", "drop": "forget it"})
    'drop'
    """
    for name in known:
        if name == value:
            return name
    listed = ", ".join(f'"{name}" ({meaning})' for name, meaning in known.items())
    raise ReplyError(Argument(name=setting, value=value), f"; one of {listed}.")


# Users import these classes from `converse_harness`; tracebacks and pickle must use this module name too.
for _error in list(globals().values()):
    if isinstance(_error, type) and issubclass(_error, ConverseHarnessError | Warning):
        _error.__module__ = "converse_harness"
