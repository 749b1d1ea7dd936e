"""The class Calls: the sequence of a fake's calls.

A Calls can select calls by operation, and lists the tools that the agent executed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, SupportsIndex, cast, overload

from converse_harness import bedrock
from converse_harness.bedrock.service import nearest
from converse_harness.endpoint.call import SCRIPTED, Call
from converse_harness.errors import ReplyError

_SHOWN: Final = 6
"""The repr shows at most this number of calls."""


class UsedTool(str):
    """A str with the name of a tool that the agent executed; it equals the plain name.

    `input` is the input that the model gave, `content` is the content of the toolResult, as blocks of the API. `failed`
    is true if the result has the status "error". `call` is the call whose request contains the result.

    >>> UsedTool("clock", {"zone": "UTC"}, {"content": [{"text": "12:00"}]}) == "clock"
    True
    """

    __slots__ = ("call", "content", "failed", "input")

    input: Any
    content: list[dict[str, Any]]
    failed: bool
    call: Call | None

    def __new__(cls, name: str, input: Any, result: Mapping[str, Any], call: Call | None = None) -> UsedTool:
        """Create a str with the tool's name, and with the input and the toolResult as attributes."""
        made = super().__new__(cls, name)
        made.input, made.content, made.call = input, list(result.get("content", ())), call
        made.failed = result.get("status") == "error"
        return made


class Calls(Sequence[Call]):
    """The calls that asked a model for an answer, those of Converse and ConverseStream, in the order of their arrival.

    Each retry is a separate Call. `all` contains the calls of every operation, `of("CountTokens")` the calls of one
    operation. A slice is also a Calls. Two Calls, or a Calls and a list, are equal if they contain the same calls. A
    Calls does not grow: `fake.calls` returns a new one.

    >>> from converse_harness import fake_converse
    >>> with fake_converse() as fake:
    ...     fake.calls
    <no calls>
    """

    __slots__ = ("_calls", "_every", "_of")
    __hash__ = None  # type: ignore[assignment]  # a Calls equals a list, and no list has a hash

    def __init__(self, every: Iterable[Call] = (), *, only: Sequence[str] | None = SCRIPTED) -> None:
        self._every = tuple(every)
        self._of = only[0] if only is not None and only is not SCRIPTED else None
        """The operation of these calls if the method `of` made this object; otherwise None."""
        self._calls = self._every if only is None else tuple([call for call in self._every if call.operation in only])

    @property
    def all(self) -> Calls:
        """The calls of every operation, also of CountTokens, ApplyGuardrail, InvokeModel and the control plane.

        `Call.number` is the call's position among them, counted from 1.
        """
        return Calls(self._every, only=None)

    def of(self, operation: str) -> Calls:
        """The calls of one operation, such as "CountTokens".

        Raises ReplyError if Bedrock has no operation of this name.
        """
        given = cast("object", operation)  # a test may pass a value of another type
        if not isinstance(given, str) or bedrock.service_of(given) is None:
            known = [*bedrock.operations(), *bedrock.service(bedrock.CONTROL_PLANE).operation_names]
            close = nearest(str(operation).replace("_", ""), known)
            hint, version = f" Did you mean {close!r}?" if close else "", bedrock.botocore_version()
            raise ReplyError(
                f"calls.of({operation!r}): no operation of Bedrock has this name in botocore {version}.{hint} It takes "
                f'the name of one operation, as "ConverseStream" or "CountTokens".{self._came()}'
            )
        return Calls(self._every, only=(operation,))

    @property
    def last(self) -> Call:
        """The newest of these calls. Raises IndexError if there is none."""
        if not self._calls:
            raise IndexError(f"{self._name}.last: {self._none()}")
        return self._calls[-1]

    @property
    def tools_used(self) -> list[UsedTool]:
        """The tools that the agent executed, in order: the tool uses whose results are in requests.

        An item equals the tool's name, and has `input`, `content`, `failed` and `call`. A result counts once, however
        often requests repeat it. An error result for a tool that the request does not offer is left out, because no
        such tool was executed.
        """
        return [*_executed(self._calls)]

    @property
    def _name(self) -> str:
        return "calls" if self._of is None else f"calls.of({self._of!r})"

    def _none(self) -> str:
        if not self._every:
            return "no call reached the fake. Look at what the code under test asks, and whether the fake is open."
        gone = " Earlier ones were let go (keep_calls)." if self._every[0].number > 1 else ""
        if self._of is not None:
            return f"no {self._of} call arrived.{self._came()}{gone}"
        return f"none of the calls asked a model for an answer.{self._came()}{gone} Look at calls.all."

    def _came(self) -> str:
        counts = Counter(call.operation or f"{call.request.method} {call.request.target}" for call in self._every)
        listed = ", ".join(f"{name} ({count})" for name, count in counts.items())
        return f" Calls so far: {listed}." if counts else ""

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Call: ...
    @overload
    def __getitem__(self, index: slice) -> Calls: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Call | Calls:
        if isinstance(index, slice):
            return Calls(self._calls[index], only=None)
        try:
            return self._calls[index]
        except IndexError:
            count = len(self._calls)
            last = f"{self._name}[{count - 1}]"
            there = f"there is 1 call: {last}." if count == 1 else f"there are {count} calls, the last is {last}."
            raise IndexError(f"{self._name}[{index}]: {there if count else self._none()}") from None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Calls):
            return self._calls == other._calls
        return [*self._calls] == [*other] if isinstance(other, list | tuple) else NotImplemented

    def __repr__(self) -> str:
        own = {call.number for call in self._calls}
        rest = Counter(call.operation or "an unknown path" for call in self._every if call.number not in own)
        beside = f" (and {', '.join(f'{count} of {name}' for name, count in rest.items())} in .all)" if rest else ""
        if not self._calls:
            return f"<no calls{beside}>"
        shown = self._calls[-_SHOWN:]
        lines = [f"\n  {call!r}" for call in shown]
        if len(shown) < len(self._calls):
            lines.insert(0, f"\n  {len(self._calls) - len(shown)} more before these")
        return f"<{len(self._calls)} call{'s' * (len(self._calls) > 1)}{beside}:{''.join(lines)}>"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]


def _executed(calls: Iterable[Call]) -> Iterator[UsedTool]:
    """Yield each tool use whose result is in a request.

    Requests repeat results, and two conversations may contain the same toolUseId. Therefore a toolUseId counts at most
    as often as the fake has sent it. A toolUseId that the fake has never sent was written by the test, and counts once.
    """
    sent: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    for call in calls:
        uses, results = _latest(call.messages)
        for use in uses:
            use_id, name = str(use.get("toolUseId")), str(use.get("name"))
            result = results.get(use_id)
            if result is None or counted[use_id] >= max(1, sent[use_id]):
                continue
            if result.get("status") != "error" or name in call.tool_names:
                counted[use_id] += 1
                yield UsedTool(name, use.get("input"), result, call)
        content = call.response.message["content"] if call.response else ()
        sent.update(block["toolUse"]["toolUseId"] for block in content if "toolUse" in block)


def _latest(messages: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], dict[str, Mapping[str, Any]]]:
    """Return the tool uses of the last answer in the messages, and the results after this answer, by toolUseId."""
    at = max((place for place, message in enumerate(messages) if message.get("role") == "assistant"), default=-1)
    answer = messages[at].get("content", ()) if at >= 0 else ()
    uses = [block["toolUse"] for block in answer if "toolUse" in block]
    after = [block for message in messages[at + 1 :] for block in message.get("content", ())]
    results = [block["toolResult"] for block in after if "toolResult" in block]
    return uses, {str(result.get("toolUseId")): result for result in results}
