"""Compare a consumer's Outcome with the sent answer; define the levels and flaws of verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from converse_harness import bedrock
from converse_harness.bedrock.rules import Refusal
from converse_harness.cases import Case
from converse_harness.contract.expectations import (
    BETWEEN,
    STOP_REASONS,
    Expectation,
    ExpectedAnswer,
    StopClass,
    expectation_of,
    parsed,
)
from converse_harness.contract.outcome import Outcome, ToolCall
from converse_harness.contract.places import difference, refusal_of_kept
from converse_harness.contract.running import FAILING_INPUT, TOOL, ToolFailed, tool_answer
from converse_harness.endpoint.call import Call
from converse_harness.json_values import equal
from converse_harness.words import cut


class _Worded(Enum):
    """The base of enums whose members have a `word` for reports and a `meaning`, which is a sentence."""

    def __init__(self, word: str, meaning: str) -> None:
        self.word = word
        self.meaning = meaning


class VerdictLevel(_Worded):
    """The levels of a verdict. Each level has a word and a meaning.

    >>> [level.word for level in VerdictLevel]
    ['handled', 'refused', 'mishandled']
    """

    HANDLED = "handled", "The consumer returns the answer, or reports a failure where a failure is right."
    REFUSED = "refused", "The consumer raises an error of its own for an answer that it could have read."
    MISHANDLED = "mishandled", "The consumer returns something that was not answered, or does not come to an end."


class Flaw(_Worded):
    """The ways in which a consumer can mishandle an answer. Each flaw has a word and a meaning.

    >>> Flaw.LOST.word
    'lost'
    """

    LOST = "lost", "Text, reasoning or a tool call of a whole answer is missing, without an error."
    CORRUPTED = "corrupted", "Text, reasoning or a tool call differs from the sent one; a tool would run with it."
    SILENT = "silent success", "An answer that broke off, was cut off or was blocked looks like a whole answer."
    WRONG_ERROR = "wrong error", "The error is an accident of the consumer's code, or names another error of AWS."
    BAD_REQUEST = "bad request", "Bedrock refuses a later request of the consumer, or its `content` in one."
    HISTORY = "wrong history", "The next question gets another answer, or its request repeats the one before it."
    ENDLESS = "endless retry", "The consumer asks again and again, more often than the contract's `most_calls`."
    HANGS = "hangs", "The consumer does not come to an end within the contract's `time_limit`."


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a consumer's result: a level, a flaw (only for MISHANDLED), and a short reason.

    `about` names what is wrong, for example "text" or the name of an error: a property reports each flaw of each thing.

    >>> Verdict(VerdictLevel.MISHANDLED, Flaw.LOST, "the text is missing").words
    'mishandled: lost'
    """

    level: VerdictLevel
    flaw: Flaw | None = None
    why: str = ""
    about: str = field(default="", compare=False)

    @property
    def kind(self) -> tuple[str, str]:
        """The level and flaw in words, and what the verdict is about: verdicts of one kind are reported once."""
        return self.words, self.about

    @property
    def words(self) -> str:
        """The verdict in words, for example `mishandled: lost` or `handled`."""
        return self.level.word if self.flaw is None else f"{self.level.word}: {self.flaw.word}"


HANDLED: Final = Verdict(VerdictLevel.HANDLED)

ACCIDENTS: Final = frozenset(
    (
        *("ArithmeticError", "AssertionError", "AttributeError", "IndexError", "KeyError", "LookupError", "NameError"),
        *("NotImplementedError", "RecursionError", "StopAsyncIteration", "StopIteration", "TypeError"),
        *("UnboundLocalError", "UnicodeDecodeError", "UnicodeEncodeError", "ZeroDivisionError"),
        *("RangeError", "ReferenceError", "SyntaxError"),  # errors of JavaScript that mean a mistake in code
        *("ImportError", "ModuleNotFoundError"),
    )
)
"""The names of errors that mean a mistake in code. If a consumer raises such an error, its flaw is WRONG_ERROR."""

FRAMEWORK_WORDS: Final = frozenset(("completed", "stop", "tool-calls", "tool_call", "tool_calls"))
"""The stop reasons of whole answers in the words of frameworks."""

FINISHED: Final = frozenset(
    (None, *FRAMEWORK_WORDS, *(name for name, each in STOP_REASONS.items() if each is StopClass.WHOLE))
)
"""The stop reasons of whole answers, in the words of AWS and of frameworks.

None is the stop reason of a consumer that does not report any.
"""

FOLLOW_UP: Final = "OK."
"""The text of the fake's answer to tool results, and to all later calls after a complete answer."""


NEXT_ANSWER: Final = "In Bern it rains."
"""The text of the fake's answer to the second question of a consumer that remembers."""


def mishandled(flaw: Flaw, why: str, about: str = "") -> Verdict:
    """Make a verdict of the level MISHANDLED with this flaw."""
    return Verdict(VerdictLevel.MISHANDLED, flaw, why, about)


def judge(
    expected: Expectation,
    outcome: Outcome,
    calls: Iterable[Call],
    *,
    errors: Mapping[type[BaseException] | str, Iterable[str]],
) -> Verdict:
    """Return the verdict on an outcome. `calls` are the fake's calls; `errors` is the contract's setting with this
    name.

    If Bedrock would refuse a request after the first one, the flaw is BAD_REQUEST, whatever the outcome is.
    """
    made = list(calls)
    for call in made[1:]:
        if call.refusal is not None:
            return mishandled(Flaw.BAD_REQUEST, _broken(call.refusal), about=call.refusal.rule.name)
        if call.malformed is not None:
            return mishandled(Flaw.BAD_REQUEST, call.malformed, about="malformed")
    went_on = len(made) > 1 and outcome.text.rstrip().endswith(FOLLOW_UP)
    if isinstance(outcome.error, ToolFailed):
        return HANDLED
    if outcome.error is not None:
        return _judge_error(expected, outcome, errors)
    verdict = _judge_answer(expected, outcome, went_on=went_on)
    if verdict.level is not VerdictLevel.HANDLED:
        return verdict
    if (unlike := difference(outcome, made, went_on=went_on)) is not None:
        return mishandled(Flaw.LOST if unlike.is_lost else Flaw.CORRUPTED, unlike.why, about=unlike.place)
    # A consumer that went on has sent what it kept, and the rules have judged that.
    if outcome.content is not None and made and not went_on:
        refusal = refusal_of_kept(outcome.content, made[-1])
        if refusal is not None:
            why = f"content, sent back, breaks the {_broken(refusal)}; leave the blank texts out of it"
            return mishandled(Flaw.BAD_REQUEST, why, about=refusal.rule.name)
    return HANDLED


def judge_results(calls: Sequence[Call], ran: Sequence[Mapping[str, Any]]) -> Verdict:
    """Return the verdict on the tool results in a consumer's requests; `ran` are the inputs that `Target.tool` got."""
    for call in calls[1:]:
        blocks = [block for message in call.messages for block in message["content"]]
        used = [block["toolUse"] for block in blocks if "toolUse" in block]
        # Another tool may have the same input, and the consumer has answered it by itself.
        uses = {use["toolUseId"]: use["input"] for use in used if use["name"] == TOOL}
        for result in call.tool_results:
            given = uses.get(result["toolUseId"])
            if given is None or given not in ran:
                continue
            if given == FAILING_INPUT:
                if result.get("status") != "error":
                    why = f"the tool raised an error for {given}, and the status of its result is not error"
                    return mishandled(Flaw.SILENT, why, about="tool_results")
            elif tool_answer(given) not in str(result["content"]):
                why = f"the result for {given} is {_shown_text(str(result['content']))}; it was {tool_answer(given)!r}"
                return mishandled(Flaw.CORRUPTED, why, about="tool_results")
    return HANDLED


def judge_next(outcome: Outcome, calls: Sequence[Call], question: str) -> Verdict:
    """Return the verdict on the outcome of the second question of a conversation.

    `calls` are the calls of the second question, and `question` is the first question. The answer to the second one is
    NEXT_ANSWER.
    """
    for call in calls:
        why = call.malformed if call.refusal is None else _broken(call.refusal)
        if why is not None:
            return mishandled(Flaw.BAD_REQUEST, f"next question: {why}", about="next question")
    if outcome.error is not None:
        why = f"next question: {error_name(outcome.error)}{_message_of(outcome.error)}"
        return mishandled(Flaw.HISTORY, why, about="error")
    if outcome.text.strip() != NEXT_ANSWER or outcome.tool_calls:
        made = f" and tool calls {[call.name for call in outcome.tool_calls]}" if outcome.tool_calls else ""
        why = f"next question: {_shown_text(outcome.text)}{made}; it was {NEXT_ANSWER!r}"
        return mishandled(Flaw.HISTORY, why, about="text")
    asked = [block.get("text", "") for message in calls[-1].messages for block in message["content"]]
    times = sum(text.count(question) for text in asked)
    if times > 1:
        why = f"next question: its request has the question before it {times} times"
        return mishandled(Flaw.HISTORY, why, about="question")
    return HANDLED


def _broken(refusal: Refusal) -> str:
    return f"rule {refusal.rule.name}: {refusal.message}"


def verdict_of(case: Case, outcome: Outcome, calls: Iterable[Call] = ()) -> Verdict:
    """Return the contract's verdict on a consumer's outcome for a case.

    `calls` are the calls of the fake that got the case's replies. With them, the verdict also covers later requests and
    the members of the outcome besides text, tool calls and reasoning.

    >>> from converse_harness.cases import CASES
    >>> verdict_of(CASES["cut_off"], Outcome("18 °C and sunny")).words
    'mishandled: silent success'
    """
    made = list(calls)
    return judge(expectation_of(case.replies, len(made) or None), outcome, made, errors={})


def _judge_error(
    expected: Expectation, outcome: Outcome, errors: Mapping[type[BaseException] | str, Iterable[str]]
) -> Verdict:
    name = error_name(outcome.error)
    if name in ACCIDENTS:
        why = f"{name} is an accident of code{_message_of(outcome.error)}"
        return mishandled(Flaw.WRONG_ERROR, why, about=name)
    if (strange := _not_sent(outcome, [*expected.tools, *expected.said.tool_calls], "whole")) is not None:
        return strange
    stands_for = _meaning_of(outcome.error, errors)
    if not expected.failure and not expected.names & stands_for:
        hint = _declaration(outcome.error, expected.names)
        return Verdict(VerdictLevel.REFUSED, None, f"{name}{_message_of(outcome.error)}{hint}", about=name)
    if expected.names and stands_for and not expected.names & stands_for:
        said, wanted = (" or ".join(sorted(names)) for names in (stands_for, expected.names))
        return mishandled(Flaw.WRONG_ERROR, f"{name} says {said}; it was {wanted}", about=f"{said} {wanted}")
    return HANDLED


def _judge_answer(expected: Expectation, outcome: Outcome, *, went_on: bool) -> Verdict:
    if (strange := _not_sent(outcome, expected.tools, "so")) is not None:
        return strange
    if not expected.answers:
        if went_on and not any(part and outcome.text.startswith(part) for part in expected.said.texts):
            return HANDLED  # the consumer called again, and returns only the later answer
        why = f"no error; {_shown_text(outcome.text)}, stop reason {outcome.stop_reason}"
        return mishandled(Flaw.SILENT, why, about="error")
    verdicts = [_compare(answer, expected, outcome, went_on=went_on) for answer in expected.answers]
    return next((verdict for verdict in verdicts if verdict.level is VerdictLevel.HANDLED), verdicts[0])


def _compare(answer: ExpectedAnswer, expected: Expectation, outcome: Outcome, *, went_on: bool) -> Verdict:
    """Return the verdict on an outcome if `answer` is the only accepted answer.

    `went_on` is true if the outcome includes the answer to a later call of the consumer.
    """
    text = outcome.text.strip()
    if went_on and expected.failure and text == FOLLOW_UP and not outcome.tool_calls:
        return HANDLED  # the consumer called again, and returns only the later answer
    readings = {reading.strip() for reading in answer.readings}
    longest = max(readings, key=len)
    if went_on and (expected.failure or answer.calls_for_more):
        told = readings | answer.readings
        readings |= {FOLLOW_UP, *(f"{each}{between}{FOLLOW_UP}".strip() for each in told for between in BETWEEN)}
    if text not in readings:
        kept = text.removesuffix(FOLLOW_UP).rstrip() if went_on else text
        flaw = Flaw.LOST if kept != longest and kept in longest else Flaw.CORRUPTED
        return mishandled(flaw, f"{_shown_text(text)}; it was {_shown_text(longest)}", about="text")
    if outcome.reasoning is not None and outcome.reasoning.strip() != answer.reasoning.strip():
        flaw = Flaw.LOST if outcome.reasoning in answer.reasoning else Flaw.CORRUPTED
        why = f"reasoning {_shown_text(outcome.reasoning)}; it was {_shown_text(answer.reasoning)}"
        return mishandled(flaw, why, about="reasoning")
    made = [(call.name, _value(call)) for call in outcome.tool_calls]
    missing = [
        (name, given)
        for name, given in _left_of(answer.tool_calls, made)
        # The consumer cannot run this tool call. It is not lost, because the consumer may send a tool result with an
        # error.
        if not (went_on and (isinstance(given, str) or name != TOOL))
    ]
    shows_reason = outcome.stop_reason == answer.stop_reason or outcome.stop_reason not in FINISHED
    if missing and not expected.obscure and not (answer.may_leave_tools and shows_reason):
        name, given = missing[0]
        return mishandled(Flaw.LOST, f"the tool call {name} {given!r} is missing", about="tool_calls")
    twice = [(name, given) for name, given in _left_of(made, answer.tool_calls) if not isinstance(given, str)]
    if twice:
        name, given = twice[0]
        return mishandled(Flaw.CORRUPTED, f"the tool call {name} {given!r} came once, and is made again", "tool_calls")
    # If the consumer called again, the stop reason belongs to the later answer.
    if not went_on and outcome.stop_reason in FINISHED:
        # The trace also tells that a guardrail blocked.
        blocked = answer.blocked and not (outcome.trace or {}).get("guardrail")
        if answer.cut_short or blocked:
            why = f"stop reason {outcome.stop_reason}; it was {answer.stop_reason}"
            return mishandled(Flaw.SILENT, why, about=str(answer.stop_reason))
    return HANDLED


def _not_sent(outcome: Outcome, sent: Sequence[tuple[str, Any]], how: str) -> Verdict | None:
    """Return the verdict on the first tool call of the outcome that the fake did not send; None if the fake sent all.

    A call whose input is not a JSON object is ignored, since no consumer runs such a call. But an empty text in place
    of {} is a mistake of the consumer. `how` is the word after "not sent" in the reason: "whole" or "so".
    """
    for call in outcome.tool_calls:
        value = _value(call)
        is_empty = value == "" and (call.name, {}) in sent
        if is_empty or (not isinstance(value, str) and not _is_among(sent, (call.name, value))):
            advice = "; a tool without input gets {}" if call.input == "" else ""
            why = f"tool call that was not sent {how}: {call.name} {call.input!r}{advice}"
            return mishandled(Flaw.CORRUPTED, why, about="tool_calls")
    return None


def _is_among(sent: Iterable[tuple[str, Any]], made: tuple[str, Any]) -> bool:
    """Whether a tool call, as the consumer made it, is one of those that were sent."""
    return any(equal(each, made, whole=True) for each in sent)


def _left_of(some: Iterable[tuple[str, Any]], others: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the tool calls of `some` that are left if each of `others` takes one that is equal."""
    left = [*some]
    for other in others:
        for number, each in enumerate(left):
            if equal(each, other, whole=True) or equal(other, each, whole=True):
                del left[number]
                break
    return left


def _value(call: ToolCall) -> Any:
    if isinstance(call.input, str):
        return parsed(call.input) if call.input else ""
    return dict(call.input)


def error_name(error: BaseException | str | None) -> str:
    """Return the name of an error: the error code of AWS or, without one, the name of the error's class.

    A text is returned unchanged, and None as "".
    """
    if error is None or isinstance(error, str):
        return error or ""
    match getattr(error, "response", None):  # exceptions of botocore have this attribute
        case {"Error": {"Code": str(code)}} if code:
            return code
        case _:
            return type(error).__name__


def _meaning_of(
    error: BaseException | str | None, errors: Mapping[type[BaseException] | str, Iterable[str]]
) -> frozenset[str]:
    """Return the names of the AWS errors that the consumer's `error` may represent; empty if none is known.

    The names come from the contract's setting `errors`, or from the error's own name.
    """
    for known, names in errors.items():
        if error == known if isinstance(known, str) else isinstance(error, known):
            return frozenset({names} if isinstance(names, str) else names)
    name = error_name(error)
    name = name[:1].upper() + name[1:]
    return frozenset({name}) if name in bedrock.all_errors() else frozenset()


def _declaration(error: BaseException | str | None, names: Iterable[str]) -> str:
    """Return how to declare an error that is right only if it has one of `names`; "" if there are no names."""
    shown = repr(error) if isinstance(error, str) else type(error).__name__
    return "".join(f"; if it means this, declare it: errors = {{{shown}: [{name!r}]}}" for name in sorted(names))


def _message_of(error: BaseException | str | None) -> str:
    """Return ": " and the message of an exception; "" for an error of which only the name is known."""
    return "" if isinstance(error, str) else f": {_shown_text(str(error))}"


def _shown_text(text: str) -> str:
    return repr(cut(text, 80))
