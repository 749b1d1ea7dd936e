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
        {"second_block_start": "corrupted"},
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
            "again_unfinished": "silent success",
            "again_half_text": "silent success",
            "again_half_frame": "silent success",
            "again_after_tool": "corrupted",
        },
    ),
    "every tool with a type is run by the service": Bug(
        'block["tool"].get("type") != "server_tool_use"', '"type" not in block["tool"]', {"tool_typed": "lost"}
    ),
    "all reasoning is text": Bug(
        'elif "text" in member["delta"].get("reasoningContent", {}):',
        'elif "reasoningContent" in member["delta"]:',
        {
            "reasoning_then_text": "wrong error",
            "reasoning_omitted": "wrong error",
            "reasoning_redacted_utf8": "wrong error",
            "reasoning_redacted_binary": "wrong error",
            "unknown_reasoning": "wrong error",
            "reasoning_after_signature": "wrong error",
            "reasoning_after_redacted": "wrong error",
        },
    ),
}
"""The bugs that are planted; no case finds two of them."""

FOUND: Final = {case: flaw for bug in BUGS.values() for case, flaw in bug.flaws.items()}
SOME: Final = (
    "text_basic",
    "tool_parallel",
    "throttled",
    "throttle_mid",
    "no_block_start",
    "bad_crc",
    "one_byte_chunks",
)
"""Cases of several kinds in which none of the bugs shows."""


def picked(*cases: str) -> str:
    """What pytest's -k takes for these cases."""
    return " or ".join(f"[{case}]" for case in cases)


def with_bugs(*names: str) -> str:
    """The consumer with some of the bugs."""
    consumer = CONSUMER
    for name in names:
        assert BUGS[name].right in consumer
        consumer = consumer.replace(BUGS[name].right, BUGS[name].wrong)
    return consumer


@pytest.mark.parametrize(
    ("tests", "examples"),
    [(f"test_property or {picked(*SOME)}", 3), pytest.param("test", 50, marks=pytest.mark.slow)],
    ids=["some", "all"],
)
def test_a_consumer_of_forty_lines_passes(tests: str, examples: int, pytester: pytest.Pytester) -> None:
    assert len(CONSUMER.strip().splitlines()) <= 40
    contract = CONTRACT.replace("(ConsumerContract):\n", f"(ConsumerContract):\n    examples = {examples}\n\n")
    pytester.makepyfile(consumer=CONSUMER, test_consumer=contract)
    result = run(pytester, "-k", tests)
    assert result.ret == 0
    assert outcomes(pytester) == {}
    assert {verdict["level"] for verdict in told(pytester).values()} == {"handled"}
    result.stdout.fnmatch_lines([f"test_consumer.py::TestConsumer: {len(told(pytester))} handled"])


@pytest.mark.parametrize(
    "tests",
    [picked(*SOME, *FOUND), pytest.param("test_case", marks=pytest.mark.slow)],
    ids=["some", "all"],
)
def test_the_bugs_are_found_and_nothing_else(tests: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(consumer=with_bugs(*BUGS), test_consumer=CONTRACT)
    result = run(pytester, "-k", tests)
    assert outcomes(pytester) == dict.fromkeys(FOUND, "failure")
    assert {case: told(pytester)[case]["flaw"] for case in FOUND} == FOUND
    assert result.ret == 1


@pytest.mark.slow
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
    run(pytester, "-k", picked(*FOUND))
    assert len(told(pytester)) == len(FOUND) * len(BUGS)
    assert outcomes(pytester) == {
        f"TestBug{number}.{case}": "failure" for number, bug in enumerate(BUGS.values()) for case in bug.flaws
    }
