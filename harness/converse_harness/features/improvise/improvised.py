"""Replies that are computed from the call. They use each offered tool once, with an input that its schema allows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, Literal, Protocol

from converse_harness.bedrock.api.checks import is_array
from converse_harness.bedrock.fit import offered_in, thinks
from converse_harness.bedrock.rules.finders.tools import OUTPUT
from converse_harness.errors import Advice, ReplyError
from converse_harness.json_values import member_of, object_of, objects_of
from converse_harness.reply.answer import meant
from converse_harness.reply.messages import message
from converse_harness.reply.reply import Reply
from converse_harness.reply.usable import Usable
from converse_harness.stream.arguments import wrong

_THOUGHT: Final = {"text": "This answer is improvised.", "signature": "EqQBCgIYAhIkMDAwMDAwMDAtMDAwMC00MDAwLTgwMDA="}


_ENDS: Final = ("claude_uses_the_forced_tool", "forced_tool_is_used")
"""The rows about answers that an improvised text breaks on purpose: it ends a loop in which a tool is forced."""

_MORE: Final = "   More: converse-harness docs improvise what-it-cannot-make"


class AskingCall(Protocol):
    """A Call, as far as an improvised reply reads it: only the JSON body of its request."""

    @property
    def body(self) -> Mapping[str, Any]:
        """The JSON of the request."""
        ...


@dataclass(frozen=True, slots=True)
class Improvised(Usable):
    """A reply that is computed from the call. It is made by `reply.improvised`, and can be used wherever a Reply can.

    An Improvised can be called: with a Call as its argument, it returns a Reply. In a script, it answers `uses` calls
    in a row.
    """

    seed: int = 0
    tools: tuple[str, ...] | Literal["all"] = "all"
    at_once: int = 1
    uses: int = 1
    may_be_unused: bool = False

    def __call__(self, call: AskingCall) -> Reply:
        """Return the Reply to a call.

        Raises ReplyError if no value is found that a schema in the request allows, or if its toolChoice names a tool
        that it does not offer.
        """
        thoughts = [{"reasoningContent": {"reasoningText": _THOUGHT}}] if thinks(call.body) else []
        turn = _UserTurn(call.body)
        names = self._next(turn)
        if not names:
            return meant(message(*thoughts, {"text": self._text(turn)}), _ENDS if turn.choice else ())
        inputs = [{"name": name, "input": self._input(name, turn.offered[name], turn)} for name in names]
        return message(*thoughts, *({"toolUse": each} for each in inputs))

    @property
    def summary(self) -> str:
        """A description in one line, such as `improvised, seed=7`."""
        given = [f"seed={self.seed}"] if self.seed else []
        given += [] if self.tools == "all" else [f"tools={list(self.tools)}"]
        given += [f"at_once={self.at_once}"] if self.at_once > 1 else []
        return self._with_use("improvised", *given)

    def __repr__(self) -> str:
        return f"<Improvised reply{self.summary.removeprefix('improvised')}>"

    def _next(self, turn: _UserTurn) -> Sequence[str]:
        """Return the names of the tools that this answer uses; empty if the answer is a text."""
        wanted = [name for name in turn.offered if self.tools == "all" or name in self.tools]
        forced: str | None = member_of(turn.choice, "tool", "name")
        if forced is not None:
            if forced not in turn.offered:
                raise ReplyError(
                    f"toolChoice names the tool {forced!r}, and the request offers {_listed(turn.offered)}. Name one "
                    "of these, or script the answer to this call."
                )
            wanted = [forced]
        if "any" in turn.choice:
            wanted = wanted or [*turn.offered]
        if turn.answers >= 2 * len(wanted) + 2:
            return ()
        left = [name for name in wanted if name not in turn.used]
        if forced is not None:
            return wanted
        if not left and wanted and "any" in turn.choice:
            left = [wanted[len(turn.used) % len(wanted)]]
        return left[: self.at_once]

    def _input(self, name: str, schema: Any, turn: _UserTurn) -> Any:
        # Imported here, because it is slow to import and rarely needed.
        from converse_harness.json_schema.parts import Unsatisfied
        from converse_harness.json_schema.values import least_value

        again = turn.used.count(name)
        try:
            return least_value(schema, seed=self.seed + again, objects=True)
        except Unsatisfied as reason:
            raise ReplyError(
                f"no input is improvised for the tool {name!r}: in its inputSchema, {reason}. Correct the schema; or "
                "leave the tool out with ",
                Advice(
                    f"tools=[...], or script its use: reply.tool_use({name!r}, {{...}}).{_MORE}",
                    f'"tools": [...], or script its use: {{"tool_use": {{"name": "{name}", "input": ...}}}}.{_MORE}',
                ),
            ) from None

    def _text(self, turn: _UserTurn) -> str:
        schema = member_of(turn.body, *OUTPUT.split("."))
        if isinstance(schema, str):
            from converse_harness.json_schema.parts import Unsatisfied
            from converse_harness.json_schema.values import least_value

            try:
                value = least_value(json.loads(schema), seed=self.seed)
            except (ValueError, RecursionError) as error:
                raise ReplyError(f"{OUTPUT} is not JSON: {error}. Send the text of a JSON Schema.") from None
            except Unsatisfied as reason:
                raise ReplyError(
                    f"no answer is improvised for the outputConfig: in {OUTPUT}, {reason}. Correct the schema, or "
                    "script the answer: ",
                    Advice(f"reply.json({{...}}).{_MORE}", f'{{"json": ...}}.{_MORE}'),
                ) from None
            return json.dumps(value, ensure_ascii=False)
        used = f" after {_listed(dict.fromkeys(turn.used))}" if turn.used else ""
        if {"any", "tool"} & turn.choice.keys():
            return f"This answer is improvised{used}. It ends {turn.answers} answers in which a tool was forced."
        return f"This answer is improvised{used}."


class _UserTurn:
    """The current turn in a request: everything after the user's last text.

    `used` are the names of the tools used in it. A text in a message with tool results does not begin a new turn,
    because some agents add a text to every result. `offered` maps the names of the request's tools to their schemas.
    `answers` is the number of the model's answers in the turn.
    """

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body = body
        config = object_of(body.get("toolConfig"))
        self.offered: Mapping[str, Any] = {
            name: tool.schema for name, tool in offered_in(config).items() if tool.schema is not None
        }
        self.choice = object_of(config.get("toolChoice"))
        answers = [*_since_the_text(objects_of(body.get("messages")))][::-1]
        self.answers = len(answers)
        uses = [object_of(block.get("toolUse")) for answer in answers for block in objects_of(answer.get("content"))]
        self.used = [str(use["name"]) for use in uses if "name" in use]


def _since_the_text(messages: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the model's answers in the current turn (after the user's last text), in reverse order."""
    for role, run in groupby(reversed(messages), key=lambda message: message.get("role")):
        same = [*run]  # models read consecutive messages of the same role as one message
        kinds = {kind for each in same for block in objects_of(each.get("content")) for kind in block}
        if role == "assistant":
            yield from same
        elif "toolResult" not in kinds and kinds - {"cachePoint"}:
            return


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(names) or "none"


def improvised(*, seed: int = 0, tools: Sequence[str] | Literal["all"] = "all", at_once: int = 1) -> Improvised:
    """Answer with tool uses that the request allows: use each offered tool once, and then answer with a text.

    A turn begins with the last text of the user. A tool counts as used if the request contains a use of it in this
    turn. The input of a tool is a value from `const`, `default`, `examples` or `enum` in its schema, otherwise the
    least value that the schema allows; another `seed` gives other values. `tools` are the names of the tools that are
    used: "all", or a list, which may be empty. Names that the request does not offer are ignored. `at_once` is the
    maximum number of tool uses in one answer. A toolChoice is obeyed. If the outputConfig has a schema, the text is
    JSON that the schema allows. After 2 x tools + 2 answers in one turn, the answer is always a text, so that every
    loop ends. Raises ReplyError for a wrong argument. When a call is answered, ReplyError is raised if no value is
    found that a schema allows.

    >>> improvised(seed=7, tools=["get_weather"])
    <Improvised reply, seed=7, tools=['get_weather']>
    """
    if tools != "all" and (isinstance(tools, str) or not is_array(tools) or not all(isinstance(x, str) for x in tools)):
        like = f", for instance [{tools!r}]" if isinstance(tools, str) else ""
        raise wrong("improvised", "tools", tools, f'"all", or a list of names{like}.')
    if type(seed) is not int:
        raise wrong("improvised", "seed", seed, "the seed is a whole number.")
    if type(at_once) is not int or at_once < 1:
        raise wrong("improvised", "at_once", at_once, "it is a whole number from 1.")
    return Improvised(seed, "all" if isinstance(tools, str) else (*tools,), at_once)


class _Scripting(Protocol):
    """The method of a fake that `improvise` calls."""

    def always(self, reply: Improvised, /) -> None:
        """Answer all calls that no other reply answers."""
        ...


class Improvises:
    """The method that this feature adds to a fake."""

    def improvise(
        self: _Scripting, *, seed: int = 0, tools: Sequence[str] | Literal["all"] = "all", at_once: int = 1
    ) -> None:
        """Answer all other calls as `reply.improvised` does: the model uses each offered tool once, then sends a text.

        The arguments are those of `reply.improvised`. Raises ReplyError for a wrong argument.
        """
        self.always(improvised(seed=seed, tools=tools, at_once=at_once))


def improvised_answers() -> tuple[Improvised, str]:
    """Return what `serve --improvise` answers with, and a text for its first line."""
    return improvised(), "improvised answers"
