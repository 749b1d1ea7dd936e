"""State machines that test an agent: hypothesis generates and shrinks whole conversations with tool uses, thoughts and
failures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypedDict, Unpack, cast, overload

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from converse_harness import Call, Calls, ConverseServer, Fake, Reply, UnusedReplies, bedrock, fake_converse, reply
from converse_harness.bedrock.citations import citing
from converse_harness.bedrock.families import family_of
from converse_harness.literals import StreamException
from converse_harness.settings import HistoryLevel, RuleLevel
from converse_strategies import basics
from converse_strategies.message.tools import invalid_tool_uses, tool_uses

Ask = Callable[[str], Any]
ToolUse = Mapping[str, Any]

TROUBLES: Final = ("throttle", "overflow", "break_stream", "stop_early", "misuse_tool")
"""The names of the state machine's steps in which something fails. `misuse_tool` requires an agent with tools."""

KINDS: Final[Mapping[str, str]] = {
    "reasoningContent": "think",
    "citationsContent": "cite",
    "toolResult": "use_service_tool",
}
"""Maps each kind of block that the model's answers may have, beside texts and tool uses, to the step that has it."""

_SERVED: Final[Mapping[str, Any]] = {"toolUseId": "tooluse_served0000000000000000", "name": "nova_code_interpreter"}
"""The members by which a tool that the service runs, and its result, belong together."""

_EARLY: Final = (
    *("max_tokens", "content_filtered", "guardrail_intervened", "stop_sequence", "malformed_model_output"),
    "model_context_window_exceeded",
)
"""The stop reasons of an answer in words, beside the usual end_turn. Older versions of botocore lack some."""

_THROTTLES: Final = 2
"""The largest number of attempts that are throttled in a row. In each retry mode, boto3 makes at least three attempts,
so one of them succeeds.
"""

_rule = cast("Callable[..., Callable[[Callable[..., None]], Any]]", rule)
"""The decorator `rule` of hypothesis. The type hints of `rule` do not allow arguments from a dict, so it is cast to a
type that does.
"""

_SPARES: Final = 100
"""How many answers of the model are available after a failed call. An agent may repeat this call, or make further calls
to summarise the conversation.
"""


@dataclass(frozen=True, slots=True)
class Turn:
    """The result of one user input: `answer` is what the agent returned; if it raised an exception, `error` is this
    exception.

    `trouble` is the name of the step if something failed in it by design, otherwise empty. `calls` are the calls that
    reached the fake.
    """

    text: str
    trouble: str
    answer: Any
    error: Exception | None
    calls: tuple[Call, ...]


class _Options(NamedTuple):
    agent: Callable[..., Ask]
    server: bool
    may_raise: tuple[type[Exception], ...]
    rules: RuleLevel
    history: HistoryLevel


class ConversationMachine(RuleBasedStateMachine):
    """The base class of the state machines that `conversation_machine` returns: a conversation of an agent with a fake
    Bedrock.

    Invariants can read the open `fake`, the `agent`, and the history: `turns`, `calls`, `answers`, `errors`. Each step
    of the conversation is a method call, which a failing test prints. Rules that a subclass adds may call these
    methods, too.
    """

    _options: ClassVar[_Options]

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[Turn] = []
        rules, history = self._options.rules, self._options.history
        with ExitStack() as stack:
            if self._options.server:
                served = stack.enter_context(ConverseServer()).script(rules=rules, history=history, answers="off")
                self.fake: Fake = served
                self.agent = self._options.agent(served.url)
            else:
                self.fake = fake_converse(rules=rules, history=history, answers="off").open()
                stack.callback(self.fake.close)
                self.agent = self._options.agent()
            self._opened = stack.pop_all()

    def teardown(self) -> None:
        """Close the fake, and raise its first problem that no step has raised. Hypothesis calls this at the end."""
        self._opened.close()
        self.fake.core.check_problems()

    def ask(self, text: str) -> Any:
        """Send a user input to the agent and return the agent's answer. Override this method if the agent is not called
        as `agent(text)`.
        """
        return self.agent(text)

    # From here on: properties with the history of the conversation.

    @property
    def calls(self) -> Calls:
        """The calls of Converse and ConverseStream, with all retries; `calls.all` has those of every operation."""
        return self.fake.calls

    @property
    def answers(self) -> list[Any]:
        """The agent's answers, one for each turn in which the agent raised no exception."""
        return [turn.answer for turn in self.turns if turn.error is None]

    @property
    def errors(self) -> list[Exception]:
        """The agent's exceptions, one for each turn in which it raised one. Only turns with a planned failure allow
        exceptions.
        """
        return [turn.error for turn in self.turns if turn.error is not None]

    # From here on: the steps of a conversation. Each plays one user input.

    def chat(self, text: str, answer: str) -> None:
        """The user sends a text, and the model answers."""
        self._play(text, [reply.text(answer)])

    def use_tools(self, text: str, uses: Sequence[ToolUse], answer: str, *, at_once: bool = True) -> None:
        """The user sends a text. The model requests tools, and answers after it has received the results.

        The tool uses are in one message if `at_once` is true; otherwise each tool use is in a message of its own.
        """
        groups = [uses] if at_once else [[use] for use in uses]
        self._play(text, [*map(_asking, groups), reply.text(answer)])

    def think(self, text: str, thought: str, answer: str, uses: Sequence[ToolUse] = (), redacted: bytes = b"") -> None:
        """The model thinks before it answers, or before it requests the tools `uses`.

        Claude's thoughts have a signature, or are redacted if `redacted` is not empty. Models that are not known to
        think only answer.
        """
        if not uses:
            self._play(text, [_thinking(thought, redacted, [{"text": answer}])])
            return
        asked = [{"toolUse": {"name": use["name"], "input": use["input"]}} for use in uses]
        self._play(text, [_thinking(thought, redacted, asked), reply.text(answer)])

    def cite(self, text: str, answer: str, quoted: str) -> None:
        """The model answers with a text that cites `quoted`, a passage of a document."""
        document = {"name": "source", "format": "txt", "source": {"text": quoted}}
        self._play(text, [reply.cited(answer, citing(document, quoted))])

    def use_service_tool(self, text: str, answer: str) -> None:
        """The service runs a tool by itself: the tool use, its result and the answer are in one message."""
        use = {**_SERVED, "type": "server_tool_use", "input": {"snippet": "9 * 2"}}
        said = {"toolUseId": _SERVED["toolUseId"], "type": "nova_code_interpreter_result", "status": "success"}
        content = {"stdOut": "18\n", "stdErr": "", "exitCode": 0, "isError": False}
        result = {**said, "content": [{"json": content}]}
        self._play(text, [reply.message({"toolUse": use}, {"toolResult": result}, {"text": answer})])

    def stop_early(self, text: str, answer: str, reason: str, uses: Sequence[ToolUse] = ()) -> None:
        """The answer ends with another stop reason than end_turn, for example with max_tokens.

        If the agent calls again, the model answers. If `uses` is not empty, these tool uses come before.
        """
        ended = reply.message({"text": answer}, stop_reason=cast("Any", reason))
        self._play(
            text, [*_before(uses), ended, reply.text(answer).times(_SPARES)], trouble="stop_early", may_fail=True
        )

    def carry_on(self, text: str, answer: str) -> None:
        """After a turn in which something failed, the user sends a text, and the model answers.

        The agent must be able to go on, whatever it did: it may raise no exception, and the request must be one that
        Bedrock accepts.
        """
        self._play(text, [reply.text(answer)])

    def throttle(self, text: str, times: int, answer: str, uses: Sequence[ToolUse] = ()) -> None:
        """The service throttles the first `times` calls; then the model answers.

        If `uses` is not empty, these tool uses come before.
        """
        self._play(text, [*_before(uses), reply.throttled().times(times), reply.text(answer)], trouble="throttle")

    def overflow(self, text: str, answer: str, uses: Sequence[ToolUse] = ()) -> None:
        """The service refuses a call because the context is too long. If the agent calls again, the model answers.

        If `uses` is not empty, these tool uses come before.
        """
        trouble = [reply.context_overflow(), reply.text(answer).times(_SPARES)]
        self._play(text, [*_before(uses), *trouble], trouble="overflow", may_fail=True)

    def break_stream(
        self, text: str, answer: str, after: int, exception: StreamException, uses: Sequence[ToolUse] = ()
    ) -> None:
        """The stream fails with `exception` after `after` events, at the latest before its last event.

        If the agent calls again, the model answers. If `uses` is not empty, these tool uses come before.
        """
        whole = reply.text(answer)
        broken = whole.fails_after(min(after, sum(1 for _ in whole.events()) - 1), exception)
        replies = [*_before(uses), broken, whole.times(_SPARES)]
        self._play(text, replies, trouble="break_stream", may_fail=True)

    def misuse_tool(self, text: str, use: ToolUse, answer: str) -> None:
        """The model requests an unknown tool, or a known tool with a wrong input, as `use` says.

        If the agent calls again, the model answers.
        """
        replies = [_asking([use]), reply.text(answer).times(_SPARES)]
        self._play(text, replies, trouble="misuse_tool", may_fail=True)

    def _play(
        self,
        text: str,
        replies: Iterable[Reply | Callable[[Call], Reply]],
        *,
        trouble: str = "",
        may_fail: bool = False,
    ) -> None:
        __tracebackhide__ = True
        before = len(self.calls)
        answer = error = None
        try:
            with self.fake.script(*replies):
                answer = self.ask(text)
        except UnusedReplies:
            if not may_fail:
                raise
        except Exception as caught:
            self.fake.core.check_problems(caught)
            if not (may_fail and isinstance(caught, self._options.may_raise)):
                raise
            error = caught
        self.fake.core.check_problems()
        self.turns.append(Turn(text, trouble, answer, error, tuple(self.calls[before:])))


def _had_trouble(conversation: ConversationMachine) -> bool:
    return bool(conversation.turns) and conversation.turns[-1].trouble not in ("", "throttle")


def _asking(uses: Sequence[ToolUse]) -> Reply:
    # The tool uses have no id here: the fake gives each tool use an id that is unique in the conversation.
    return reply.message(*({"toolUse": {"name": use["name"], "input": use["input"]}} for use in uses))


def _thinking(thought: str, redacted: bytes, then: Sequence[Mapping[str, Any]]) -> Callable[[Call], Reply]:
    """Return a function that answers as the requested model thinks."""

    def thinks(call: Call) -> Reply:
        family = family_of(call.model_id)
        if not family.signs and family.reasoning is None:
            return reply.message(*then)
        if redacted and family.signs:
            return reply.message({"reasoningContent": {"redactedContent": redacted}}, *then)
        return reply.reasoning(thought, reply.message(*then))

    return thinks


def _before(uses: Sequence[ToolUse]) -> list[Reply]:
    return [_asking(uses)] if uses else []


class _MachineOptions(TypedDict, total=False):
    tools: Sequence[Mapping[str, Any]]
    texts: st.SearchStrategy[str] | None
    answers: st.SearchStrategy[str] | None
    kinds: Collection[str] | None
    troubles: Collection[str] | None
    may_raise: type[Exception] | tuple[type[Exception], ...]
    invariants: Sequence[Callable[[Any], None]]
    rules: RuleLevel
    history: HistoryLevel


@overload
def conversation_machine(
    agent: Callable[[], Ask], *, server: Literal[False] = False, **options: Unpack[_MachineOptions]
) -> type[ConversationMachine]: ...


@overload
def conversation_machine(
    agent: Callable[[str], Ask], *, server: Literal[True], **options: Unpack[_MachineOptions]
) -> type[ConversationMachine]: ...


def conversation_machine(
    agent: Callable[..., Ask],
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    texts: st.SearchStrategy[str] | None = None,
    answers: st.SearchStrategy[str] | None = None,
    kinds: Collection[str] | None = None,
    troubles: Collection[str] | None = None,
    may_raise: type[Exception] | tuple[type[Exception], ...] = Exception,
    invariants: Sequence[Callable[[Any], None]] = (),
    rules: RuleLevel = "default",
    history: HistoryLevel = "note",
    server: bool = False,
) -> type[ConversationMachine]:
    """A hypothesis state machine that talks to an agent: texts, tool uses, throttling and broken streams, in any order.

    `agent` is a function that makes a new agent for each conversation, while the fake is open. The agent is called with
    the user's text. If `server` is true, the fake is a loopback server, and `agent` is called with the server's URL.
    `tools` are the agent's ToolSpecs; the model requests these tools with valid inputs. `texts` is a strategy for the
    user's texts, `answers` for those of the model.

    `kinds` are the kinds of blocks in the model's answers beside texts and tool uses: "reasoningContent" (the default;
    thoughts with signatures and redacted ones, if the model is known to think), "citationsContent", and "toolResult"
    (a tool that the service runs). Each gives a step: `think`, `cite`, `use_service_tool`. `[]` is for none.

    `troubles` are the steps in which something fails, by default all that are possible. They are "throttle" (boto's own
    retries succeed), "overflow" (the context is too long), "break_stream" (an exception amid the events), "stop_early"
    (a stop reason such as max_tokens) and "misuse_tool" (an unknown tool or a wrong input). In all of them but
    "throttle", an agent may raise `may_raise` and leave replies unused. After them, the step `carry_on` asks on. The
    test fails for any other exception or unused reply, and for a request that Bedrock would refuse (according to the
    level `rules`). If `history` is "fail", it also fails for a request that changes earlier messages of the model.

    `invariants` are functions that are called with the machine after each step; a subclass may add its own with
    `@invariant()`. Raises InvalidArgument for a wrong argument.

    >>> from converse_harness.intercept.clients import create_client
    >>> def make_agent():
    ...     client, messages = create_client(), []
    ...     def ask(text):
    ...         messages.append({"role": "user", "content": [{"text": text}]})
    ...         message = client.converse(modelId="m", messages=messages)["output"]["message"]
    ...         messages.append(message)
    ...         return message["content"][0]["text"]
    ...     return ask
    >>> def roles_alternate(conversation):
    ...     for call in conversation.calls:
    ...         roles = [message["role"] for message in call.messages]
    ...         assert roles == (["user", "assistant"] * len(roles))[: len(roles)], roles
    >>> machine = conversation_machine(make_agent, troubles=["throttle"], invariants=[roles_alternate])
    >>> from hypothesis import settings
    >>> from hypothesis.stateful import run_state_machine_as_test
    >>> run_state_machine_as_test(machine, settings=settings(max_examples=5, stateful_step_count=5, deadline=None))
    """
    possible = TROUBLES if tools else [name for name in TROUBLES if name != "misuse_tool"]
    wanted = possible if troubles is None else troubles
    known = [kind for kind in KINDS if kind != "toolResult" or bedrock.has_member("ToolUseBlock", "type")]
    asked = ["reasoningContent"] if kinds is None else kinds
    blocks = basics.chosen("conversation_machine", "kinds", asked, known) if asked else ()
    _check(agent, tools, wanted, invariants)
    said = basics.visible_texts() if texts is None else texts
    answered = basics.visible_texts() if answers is None else answers
    uses = st.one_of([tool_uses(spec).map(_without_id) for spec in tools])
    wrong = st.one_of([invalid_tool_uses(spec).map(_without_id) for spec in tools])
    # In steps with a failure, the model may request tools before the failure.
    some = {"uses": st.lists(uses, max_size=2)} if tools else {}
    exchange: dict[str, st.SearchStrategy[Any]] = {"text": said, "answer": answered}
    arguments: dict[str, dict[str, st.SearchStrategy[Any]]] = {
        "chat": exchange,
        "use_tools": {**exchange, "uses": st.lists(uses, min_size=1, max_size=3), "at_once": st.booleans()},
        "throttle": {**exchange, **some, "times": st.integers(1, _THROTTLES)},
        "overflow": {**exchange, **some},
        "break_stream": {
            **exchange,
            **some,
            "after": st.integers(0, 9),
            "exception": st.deferred(lambda: st.sampled_from(sorted(bedrock.stream_exceptions()))),
        },
        "misuse_tool": {**exchange, "use": wrong},
        "stop_early": {
            **exchange,
            **some,
            "reason": st.deferred(
                lambda: st.sampled_from([each for each in _EARLY if each in bedrock.enum("StopReason")])
            ),
        },
        "think": {
            **exchange,
            **some,
            "thought": answered,
            "redacted": st.just(b"") | st.binary(min_size=1, max_size=8),
        },
        "cite": {**exchange, "quoted": answered},
        "use_service_tool": exchange,
    }
    chosen = ["chat", *(["use_tools"] if tools else []), *(KINDS[kind] for kind in blocks), *wanted]
    steps = {name: _rule(**arguments[name])(getattr(ConversationMachine, name)) for name in chosen}
    if set(wanted) - {"throttle"}:
        steps["carry_on"] = precondition(_had_trouble)(_rule(**exchange)(ConversationMachine.carry_on))
    steps |= {f"invariant_{number}": invariant()(each) for number, each in enumerate(invariants)}
    errors = may_raise if isinstance(may_raise, tuple) else (may_raise,)
    options = _Options(agent, server, errors, rules, history)
    return type("Conversation", (ConversationMachine,), {**steps, "_options": options, "__module__": __name__})


def _without_id(use: dict[str, Any]) -> dict[str, Any]:
    return {"name": use["name"], "input": use["input"]}


def _check(agent: object, tools: Sequence[object], troubles: Collection[str], invariants: Sequence[object]) -> None:
    if not callable(agent):
        raise InvalidArgument(
            f"conversation_machine({agent!r}): `agent` is a function that makes an agent, one for each conversation: "
            "conversation_machine(make_agent), or conversation_machine(lambda: agent) for one that keeps nothing."
        )
    for spec in tools:
        if not isinstance(spec, Mapping) or not ("toolSpec" in spec or "inputSchema" in spec):
            raise InvalidArgument(
                f"conversation_machine(tools=...): {spec!r} is no ToolSpec of the AWS API. Give a list of dicts with "
                "name, description and inputSchema."
            )
    unknown = [troubles] if isinstance(troubles, str) else [name for name in troubles if name not in TROUBLES]
    if unknown:
        raise InvalidArgument(
            f"conversation_machine(troubles=...): {unknown[0]!r} is not possible. Give a list of some of: "
            f"{', '.join(TROUBLES)}; an empty one for none."
        )
    if "misuse_tool" in troubles and not tools:
        raise InvalidArgument(
            "conversation_machine(troubles=...): 'misuse_tool' needs a tool. Give the ToolSpecs of the agent's tools=."
        )
    for each in invariants:
        if not callable(each):
            raise InvalidArgument(
                f"conversation_machine(invariants=...): {each!r} cannot be called. An invariant is a function of the "
                "machine that asserts something."
            )
