"""What a user's type checker must accept of the catalogue."""

import pytest

from converse_harness import Fake, Reply, cases, fake_converse, reply
from converse_harness.cases import CASES, Case


def test_each(converse_each_case: Case) -> None:
    told: list[str] = [converse_each_case.name, converse_each_case.sentence, converse_each_case.required]
    assert told


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_every(case: Case) -> None:
    replies: tuple[Reply, ...] = case.replies
    first: Reply = case.reply
    with fake_converse(first, *replies[1:], unused="allow"):
        pass


def test_some() -> None:
    streams: list[str] = [name for name, case in cases.CASES.items() if case.stream_only]
    one: Case | None = CASES.get("overflow_pre")
    assert streams
    assert one


def test_by_name(converse: Fake) -> None:
    one: Case = cases.throttle_mid
    converse.script(one, cases.overflow_pre, reply.text("hi"))
    converse.when(turn=1).script(*CASES.values())
    converse.always(cases.overflow_pre)
    with fake_converse(cases.throttle_mid, unused="allow"):
        pass
