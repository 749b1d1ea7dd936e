"""What a REPL shows: tab completion has the public names, and every public object reads as what it is."""

from __future__ import annotations

import pytest

import converse_harness
from converse_harness import assemble, cases, chunk, faults, literals, reply
from converse_harness.cases import CASES


@pytest.mark.parametrize("module", [reply, faults, cases, literals], ids=lambda module: module.__name__)
def test_a_module_completes_its_public_names(module: object) -> None:
    names: list[str] = vars(module)["__all__"]
    assert dir(module) == sorted([*names, *(CASES if module is cases else ())])
    assert all(hasattr(module, name) for name in names)


def test_the_package_completes_its_public_names() -> None:
    assert {"reply", "faults", "fake_converse", "Reply"} <= set(dir(converse_harness))
    assert not [name for name in dir(converse_harness) if name.startswith("_")]


def test_a_reply_completes_what_tests_use() -> None:
    names = dir(reply.text("a"))
    assert {"times", "fails_after", "paced", "broken", "retry_after", "error_frame_after"} <= set(names)
    assert not {*dir(reply.text("a").plan)} & {*names} - {"events", "failure", "summary"} - {*dir(object)}
    assert not [name for name in names if name.startswith("_")]
    assert all(hasattr(reply.text("a"), name) for name in names)


def test_public_objects_read_as_what_they_are() -> None:
    answer = assemble(chunk({"role": "assistant", "content": [{"text": "a"}]}, usage={"inputTokens": 1}))
    assert repr(answer) == (
        "Response(message={'role': 'assistant', 'content': [{'text': 'a'}]}, stop_reason='end_turn', "
        "usage={'inputTokens': 1}, metrics={'latencyMs': 10})"
    )
    assert repr(CASES["tool_parallel"]).startswith("<Case tool_parallel: ")
    assert repr(faults.stall.lasting(2)) == "faults.stall.lasting(2)"
    assert (
        repr(reply.events([{"throttlingException": {"message": "a"}}]))
        == "<Reply 1 event, the last one throttlingException>"
    )
