"""Every stop reason has a class, and the errors that a consumer may raise for it have names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

import pytest

from converse_harness import Reply, bedrock, reply
from converse_harness.cases import CASES
from converse_harness.contract import ConsumerContract, Outcome, Target, Verdict
from converse_harness.contract.expectations import STOP_ERRORS, STOP_REASONS, expectation_of, stop_errors
from converse_harness.contract.judging import judge
from converse_harness.literals import StopReason
from tests.contract.test_standard import strict
from tests.planted.by_contract import accusations
from tests.profiles import examples


def test_every_stop_reason_has_a_class() -> None:
    assert {*STOP_REASONS} == {*get_args(StopReason)} >= {*bedrock.enum("StopReason")}


BLOCKED: Final = [
    name
    for name, case in CASES.items()
    if any(answer.stop_reason == "guardrail_intervened" for answer in expectation_of(case.replies).answers)
]
MASKED: Final = ["guardrail_masked", "guardrail_input_masked"]
"""Of these the text is the model's, with parts masked."""
UNTRACED: Final = ["guardrail_no_trace", "stop_guardrail_intervened"]
PROPERTIES: Final = ("any_answer", "any_failure", "any_fault")


def test_the_cases_of_a_guardrail() -> None:
    assert len(BLOCKED) == 15
    assert {*MASKED, *UNTRACED} < {*BLOCKED}


class Blocked(Exception):
    """What a consumer raises if a guardrail intervened."""


Ends = Callable[[Outcome, Mapping[str, Any]], Outcome]
"""What a consumer makes of an answer at which a guardrail intervened, and of its trace."""


def raises(outcome: Outcome, trace: Mapping[str, Any]) -> Outcome:
    raise Blocked(outcome.text)


def contract_of(ends: Ends, names: list[str] | None = None, number: int = examples(0.4)) -> ConsumerContract:
    """The contract of a right consumer but for what it makes of a guardrail's words; `names` are those of its error."""

    class Consumer(ConsumerContract):
        examples = number

        def consume(self, target: Target) -> Outcome:
            events = [*target.client.converse_stream(**target.request)["stream"]]
            outcome = strict(events)
            trace: Mapping[str, Any] = {}
            for event in events:
                trace = event.get("metadata", {}).get("trace", trace)
            return ends(outcome, trace) if outcome.stop_reason == "guardrail_intervened" else outcome

    Consumer.errors = {Blocked: names} if names else {}
    return Consumer()


def flaws(contract: ConsumerContract, *tests: str) -> dict[str, str]:
    return {name: tried.seen.verdict.words for name, tried in accusations(contract, *tests)}


def ended(stop_reason: str | None, *, traced: bool = False) -> Ends:
    return lambda outcome, trace: Outcome(
        outcome.text, outcome.tool_calls, stop_reason, trace=trace if traced else None
    )


@pytest.mark.parametrize("stop_reason", ["guardrail_intervened", "content_filter"])
def test_words_with_their_stop_reason_are_handled(stop_reason: str) -> None:
    assert flaws(contract_of(ended(stop_reason)), *BLOCKED, *PROPERTIES) == {}


def test_an_error_that_is_declared_is_handled() -> None:
    assert flaws(contract_of(raises, ["GuardrailIntervened"]), *BLOCKED, *PROPERTIES) == {}


def test_another_error_may_be_one_that_could_not_read_the_answer() -> None:
    found = dict(accusations(contract_of(raises), *BLOCKED))
    assert {name: each.seen.verdict.words for name, each in found.items()} == dict.fromkeys(BLOCKED, "refused")
    assert found["guardrail_no_trace"].seen.verdict.why == (
        "Blocked: 'Sorry, the model cannot answer this question.'; if it means this, declare it: "
        "errors = {Blocked: ['GuardrailIntervened']}"
    )
    assert flaws(contract_of(raises, ["ContentFiltered"]), *BLOCKED) == dict.fromkeys(BLOCKED, "refused")


@pytest.mark.parametrize("stop_reason", ["end_turn", "stop", None])
def test_words_without_a_sign_are_taken_for_those_of_the_model(stop_reason: str | None) -> None:
    accused = [name for name in BLOCKED if name not in MASKED]
    found = flaws(contract_of(ended(stop_reason), number=60), *BLOCKED, "any_answer")
    assert found == dict.fromkeys([*accused, "any_answer"], "mishandled: silent success")


def test_the_trace_is_a_sign_too() -> None:
    found = flaws(contract_of(ended("end_turn", traced=True)), *BLOCKED)
    assert found == dict.fromkeys(UNTRACED, "mishandled: silent success")


def judged(answer: Reply, names: list[str]) -> Verdict:
    """The verdict on a consumer that raises an error that means one of these names."""
    return judge(expectation_of([answer]), Outcome(error="Own"), (), errors={"Own": names})


CUT: Final = [reason for reason in STOP_REASONS if stop_errors(reason) and reason != "guardrail_intervened"]


@pytest.mark.parametrize("reason", CUT)
def test_the_name_of_an_error_is_that_of_its_stop_reason(reason: StopReason) -> None:
    answer = reply.message({"text": "It is"}, stop_reason=reason)
    assert judge(expectation_of([answer]), Outcome(error="Own"), (), errors={}).words == "handled"
    handled = {name for name in STOP_ERRORS if judged(answer, [name]).words == "handled"}
    assert handled == stop_errors(reason)
    wrong = judged(answer, ["GuardrailIntervened"])
    assert wrong.words == "mishandled: wrong error"
    assert wrong.why == f"Own says GuardrailIntervened; it was {' or '.join(sorted(stop_errors(reason)))}"


def test_an_error_for_an_input_that_is_no_json_may_have_any_name() -> None:
    answer = CASES["tool_truncated_json_max_tokens"].reply
    assert judged(answer, ["MalformedToolUse"]).words == "handled"


@pytest.mark.parametrize("reason", ["guardrail_intervened", "max_tokens"])
def test_who_raises_at_the_stop_reason_has_not_read_the_exception_after_it(reason: StopReason) -> None:
    whole = reply.message({"text": "It is"}, stop_reason=reason)
    stop = next(number for number, event in enumerate(whole.events()) if "messageStop" in event)
    after, before = (whole.fails_after(place, "throttlingException") for place in (stop + 1, stop))
    assert judged(after, [*stop_errors(reason)]).words == "handled"
    assert judged(before, [*stop_errors(reason)]).words == "mishandled: wrong error"


def test_a_whole_answer_has_no_error() -> None:
    assert [reason for reason in STOP_REASONS if not stop_errors(reason)] == ["end_turn", "stop_sequence", "tool_use"]
    for reason in ("end_turn", "tool_use"):
        case = CASES[f"stop_{reason}"]
        assert judged(case.reply, sorted(STOP_ERRORS)).words == "refused"


@pytest.mark.parametrize("reason", get_args(StopReason))
def test_who_tells_the_stop_reason_may_leave_the_tools_of_an_answer_that_does_not_ask_for_them(
    reason: StopReason,
) -> None:
    use = {"toolUse": {"name": "get_weather", "input": {"city": "Bern"}}}
    expected = expectation_of([reply.message({"text": "I look."}, use, stop_reason=reason)])
    told, untold = (judge(expected, Outcome("I look.", (), each), (), errors={}).words for each in (reason, None))
    assert told == ("mishandled: lost" if reason in ("end_turn", "tool_use") else "handled")
    assert untold == "mishandled: lost"
