"""A project of somebody else finds, with ten lines, the bugs of its consumer, and nothing in the mended one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pytest

from tests.contract.projects import CONSUMER, CONTRACT, outcomes, run, told


@dataclass(frozen=True, slots=True)
class Bug:
    """What is changed in the consumer, and the flaws of the cases that find it."""

    right: str
    wrong: str
    flaws: Mapping[str, str]


BUGS: Final[Mapping[str, Bug]] = {
    "deltas belong to the last block, whatever their index says": Bug(
        'block = blocks.setdefault(member["contentBlockIndex"],',
        'index = len(blocks) - (bool(blocks) and kind == "contentBlockDelta")\n'
        "            block = blocks.setdefault(index,",
        {"tool_interleaved": "", "second_block_start": "corrupted"},
    ),
    "a stream that ended is whole": Bug(
        '    if reason is None:\n        raise BrokenAnswer("no messageStop")\n',
        "",
        {
            "no_message_stop": "silent success",
            "cut_off": "silent success",
            "truncated_frame": "silent success",
            "cut_in_prelude": "silent success",
            "cut_in_headers": "silent success",
            "empty_200": "silent success",
        },
    ),
    "all reasoning is text": Bug(
        'elif "text" in member["delta"].get("reasoningContent", {}):',
        'elif "reasoningContent" in member["delta"]:',
        {
            "reasoning_then_text": "wrong error",
            "reasoning_redacted_utf8": "wrong error",
            "reasoning_redacted_binary": "wrong error",
            "unknown_reasoning": "wrong error",
            "reasoning_after_signature": "wrong error",
            "reasoning_after_redacted": "wrong error",
        },
    ),
}
"""The bugs that are planted; no case finds two of them."""


def with_bugs(*names: str) -> str:
    """The consumer with some of the bugs."""
    consumer = CONSUMER
    for name in names:
        assert BUGS[name].right in consumer
        consumer = consumer.replace(BUGS[name].right, BUGS[name].wrong)
    return consumer


def test_a_consumer_of_forty_lines_passes(pytester: pytest.Pytester) -> None:
    assert len(CONSUMER.strip().splitlines()) <= 40
    pytester.makepyfile(consumer=CONSUMER, test_consumer=CONTRACT)
    result = run(pytester)
    assert result.ret == 0
    assert outcomes(pytester) == {}
    assert {verdict["level"] for verdict in told(pytester).values()} == {"handled"}
    result.stdout.fnmatch_lines([f"test_consumer.py::TestConsumer: {len(told(pytester))} handled"])


def test_three_bugs_are_found_and_nothing_else(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(consumer=with_bugs(*BUGS), test_consumer=CONTRACT)
    result = run(pytester, "-k", "test_case")
    found = {case: flaw for bug in BUGS.values() for case, flaw in bug.flaws.items()}
    assert outcomes(pytester) == dict.fromkeys(found, "failure")
    assert {case: told(pytester)[case]["flaw"] for case in found} == found
    assert told(pytester)["tool_interleaved"]["level"] == "refused"
    assert result.ret == 1


def test_each_bug_has_cases_of_its_own(pytester: pytest.Pytester) -> None:
    for number, name in enumerate(BUGS):
        pytester.makepyfile(
            **{
                f"consumer{number}": with_bugs(name),
                f"test_consumer{number}": CONTRACT.replace("TestConsumer", f"TestBug{number}").replace(
                    "from consumer", f"from consumer{number}"
                ),
            }
        )
    cases = [f"[{case}]" for bug in BUGS.values() for case in bug.flaws]
    run(pytester, "-k", " or ".join(cases))
    assert len(told(pytester)) == len(cases) * len(BUGS)
    assert outcomes(pytester) == {
        f"TestBug{number}.{case}": "failure" for number, bug in enumerate(BUGS.values()) for case in bug.flaws
    }
