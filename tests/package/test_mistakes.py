"""Mistakes that newcomers make: a name that is nearly right, arguments in another order, what makes no sense."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest

import converse_harness
from converse_harness import Endpoint, Fake, ReplyError, cases, faults, literals, reply
from converse_harness.cases import CASES

new: Any = Fake
wrong: Any = reply
ok: Any = reply.text("The answer is forty-two.")
"""They are Any, because a type checker finds most of these mistakes by itself."""

NEARLY: Final[Mapping[str, tuple[Any, str, str]]] = {
    "reply": (reply, "txt", "module 'converse_harness.reply' has no attribute 'txt'; did you mean 'text'?"),
    "faults": (faults, "resett", "module 'converse_harness.faults' has no attribute 'resett'; did you mean 'reset'?"),
    "literals": (literals, "StopReasn", "no attribute 'StopReasn'; did you mean 'StopReason'"),
    "cases": (cases, "throttle_md", "no attribute 'throttle_md'; did you mean 'throttle_mid'"),
    "the package": (converse_harness, "fake_convers", "no attribute 'fake_convers'; did you mean 'fake_converse'"),
    "nothing near": (reply, "zzz", "module 'converse_harness.reply' has no attribute 'zzz'"),
    "of inspect": (cases, "__wrapped__", "module 'converse_harness.cases' has no attribute '__wrapped__'"),
}


@pytest.mark.parametrize("module", NEARLY)
def test_an_unknown_name_of_a_module_gets_the_names_near_it(module: str) -> None:
    where, name, told = NEARLY[module]
    with pytest.raises(AttributeError) as caught:
        getattr(where, name)
    assert told in str(caught.value)
    assert ("did you mean" in str(caught.value)) == ("did you mean" in told)


def test_each_case_is_an_attribute_of_the_module() -> None:
    assert cases.throttle_mid is CASES["throttle_mid"]
    assert {name for name in CASES if getattr(cases, name) is not CASES[name]} == set()
    assert {"CASES", "Case", *CASES} <= set(dir(cases))


@pytest.mark.needs_os
def test_no_case_is_built_for_what_python_asks_a_module() -> None:
    asks = "from converse_harness import cases; hasattr(cases, '__wrapped__'); print('_cases' in vars(cases.CASES))"
    assert subprocess.check_output([sys.executable, "-c", asks], text=True) == "False\n"


def test_a_case_stands_for_its_replies() -> None:
    several = next(case for case in CASES.values() if len(case.replies) > 1)
    expected = [each.summary for each in (cases.throttled.reply, *several.replies)]
    fake = Fake(cases.throttled, several)
    assert [slot.summary for _, slot in fake.endpoint.script.slots()] == expected
    fake = Fake()
    fake.script(cases.throttled, several)
    assert [slot.summary for _, slot in fake.endpoint.script.slots()] == expected
    fake = Fake()
    fake.when(turn=1).script(cases.throttled, several)
    assert [slot.summary for _, slot in fake.endpoint.script.slots()] == expected
    fake = Fake()
    fake.always(cases.throttled)
    assert [slot.summary for _, slot in fake.endpoint.script.slots()] == expected[:1]
    with pytest.raises(ReplyError, match=r"always\(\): these are \d replies; any number of calls has one answer"):
        fake.always(several)


def test_a_function_with_any_attribute_stays_a_function() -> None:
    made: Any = lambda call: reply.text("a")  # noqa: E731 - it gets an attribute
    made.replies = (reply.text("b"),)
    fake = Fake(made)
    assert [slot.source for _, slot in fake.endpoint.script.slots()] == [made]


def test_a_case_is_checked_as_its_replies_are() -> None:
    with pytest.raises(ReplyError, match="the asgi transport cannot express the fault connection_refused"):
        Endpoint(transport="asgi").check(cases.connection_refused)


MISTAKES: Final[Mapping[str, tuple[Callable[[], object], str]]] = {
    "text": (lambda: new().script("hi"), "script(): 'hi' is not a reply. .+ For the model's text: reply.text('hi')."),
    "case": (lambda: new().script("throttle_mid"), " For a case of the catalogue: cases.throttle_mid."),
    "list": (lambda: new().script([ok, ok]), "script(): .+ write a star before the list, *replies."),
    "function": (lambda: new().script(reply.text), "script(): reply.text is a function that makes a reply. Call it: "),
    "of failures": (lambda: new(reply.throttled), "reply.throttled is a function that makes a reply. Call it: "),
    "in when": (lambda: new().when(turn=1).script(reply.json), "when().script(): reply.json is a function that"),
    "always function": (lambda: new().always(reply.text), "always(): reply.text is a function that makes a reply."),
    "method": (
        lambda: new().script(ok.optional),
        "script(): optional is a method of a reply. Call it: .optional(...)",
    ),
    "always times": (lambda: new().always(ok.times(2)), "always(): .+ Leave out .times(2)."),
    "always optional": (lambda: new().always(ok.optional()), "always(): .+ Leave out .optional()."),
    "when always": (lambda: new().when(turn=1).always(ok.times(2)), "when().always(): .+ Leave out .times(2)."),
    "wording": (
        lambda: wrong.throttled("tokens"),
        "throttled(message='tokens'): .+ reply.throttled(wording=\"tokens\").",
    ),
    "overflow": (lambda: wrong.validation_error("input_too_long"), 'Write reply.context_overflow("input_too_long").'),
    "policy": (lambda: wrong.guardrail_blocked("topic"), "guardrail_blocked(text='topic'): .+ Write policy=\"topic\"."),
    "passed": (lambda: wrong.guardrail_passed("word"), "guardrail_passed(text='word'): .+ Write policy=\"word\"."),
    "swapped": (
        lambda: ok.fails_after("throttlingException", 3),
        "fails_after('throttlingException', 3): first comes the number of events, then the name",
    ),
    "capital": (
        lambda: ok.fails_after(1, "ThrottlingException", strict=True),
        "fails_after(1, exception='ThrottlingException'): .+; did you mean 'throttlingException'?",
    ),
    "error": (lambda: wrong.error("Throtling", status=None), "did you mean 'ThrottlingException'?"),
    "denied": (lambda: wrong.access_denied(5), "access_denied(message=5): it must be a str; it is of the type int."),
    "topics": (
        lambda: wrong.guardrail_blocked(policy="topics"),
        "guardrail_blocked(policy='topics'): this is no policy of guardrails; did you mean 'topic'?",
    ),
    "mask": (lambda: wrong.guardrail_masked("x"), "guardrail_masked(text='x'): the text has no mask."),
    "quoted fault": (lambda: ok.broken("reset"), "Write it without quotes: broken(faults.reset)."),
    "near fault": (lambda: ok.broken("rest"), "broken(fault='rest'): .+; did you mean 'reset'?"),
    "after": (lambda: ok.broken(faults.reset, after="3"), "broken(reset, after='3'): .+ of the type str."),
    "order after": (lambda: ok.broken(faults.no_message_stop, after="3"), "after='3'): .+ of the type str."),
    "frame after": (lambda: ok.error_frame_after("x"), "error_frame_after(events='x'): .+ of the type str."),
    "fails after": (lambda: ok.fails_after("1", "throttlingException"), "fails_after(events='1'): .+ of the type str."),
    "JSON": (lambda: wrong.response('{"output": {}}'), "response(response='.+ json.loads(...) for JSON"),
    "printed": (lambda: wrong.response("{'output': {}}"), "ast.literal_eval(...) for a printed dict."),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_the_way_out(mistake: str) -> None:
    make, told = MISTAKES[mistake]
    with pytest.raises(ReplyError) as caught:
        make()
    said = str(caught.value)
    for part in told.split(".+"):
        assert part.strip() in said
        said = said.partition(part.strip())[2]


def test_an_id_that_is_filled_in_is_not_missing() -> None:
    with pytest.raises(ReplyError) as caught:
        wrong.message({"toolUse": {"input": {}}})
    assert str(caught.value).startswith("content[0].toolUse lacks 'name';")


def test_an_answer_without_blocks_has_a_summary() -> None:
    assert repr(reply.message()) == "<Reply no content block>"


def test_completion_of_a_reply_shows_what_tests_use() -> None:
    assert {"optional", "failure", "times", "broken"} <= set(dir(ok))
