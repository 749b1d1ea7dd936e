"""Events with an exception at the end: no change drops or replaces it; a beginning is refused with two ways out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from converse_harness import Endpoint, Reply, ReplyError, StreamOrderError, faults, reply
from converse_harness.errors import json_text

SAID = list(reply.text("a b c").events())
FAILED = reply.events([*SAID[:3], {"throttlingException": {"message": "Slow down."}}])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: FAILED.broken(faults.cut_off), r"the exception at the end would be lost\. Leave it out"),
        (lambda: FAILED.fails_after(2, "modelStreamErrorException"), r"a stream fails once\. .* leave out fails_after"),
        (lambda: FAILED.error_frame_after(2), r"a stream fails once\. .* leave out error_frame_after"),
    ],
)
def test_the_exception_of_events_is_not_lost(change: Callable[[], Reply], said: str) -> None:
    with pytest.raises(ReplyError, match=said):
        change()


def test_an_order_that_keeps_the_exception_may_be_broken() -> None:
    broken = FAILED.broken(faults.no_message_start)
    assert list(broken.events()) == list(FAILED.events())[1:]


def test_a_beginning_is_refused_with_both_ways_out() -> None:
    with pytest.raises(StreamOrderError) as caught:
        Endpoint(reply.events(SAID[:3]))
    assert str(caught.value).endswith(
        'write .fails_after(3, "throttlingException") to let the stream fail there, or reply.events(..., strict=False) '
        "to end it there."
    )
    assert json_text(caught.value).endswith('or "strict": false to end it there.')
    Endpoint(reply.events(SAID[:3]).fails_after(3, "throttlingException"), reply.events(SAID[:3], strict=False))
