"""Suites written for Claude Sonnet 4.5: a rehearsal names what is planted in them for other models, for their own none.

The suites of langchain-aws and pydantic-ai are in tests/clients/pinned/rehearsal/.
"""

from __future__ import annotations

import pytest

from tests.features.rehearsal.edited import MODELS, SONNET, SUITES
from tests.nested import OURS

PLANTED = {
    "boto3": {
        "Opus 5": {
            "test_prefill": "claude_is_not_prefilled",
            "test_temperature": "claude_has_no_temperature",
            "test_thinks": "claude_thinks_as_it_can",
            "test_top_p": "claude_has_no_top_p",
        },
        "Nova Pro": {
            "test_cached_tools": "nova_tools_have_no_cache_point",
            "test_long_answer": "some_answers_are_limited",
            "test_thinks": "nova_has_no_other_fields",
        },
        "Llama 4": {
            "test_cached_tools": "some_cache_nothing",
            "test_comments_on_a_result": "llama_and_mistral_speak_or_have_results",
            "test_must_use_a_tool": "llama_is_not_forced_to_use_tools",
            "test_must_use_the_clock": "some_are_not_forced_to_use_a_tool",
            "test_speaks_and_uses_a_tool": "llama_and_mistral_speak_or_use_a_tool",
            "test_streams_with_tools": "some_stream_no_tools",
        },
    },
    "strands": {
        "Opus 5": {
            "test_temperature": "claude_has_no_temperature",
            "test_thinks": "claude_thinks_as_it_can",
        },
        "Nova Pro": {
            "test_cached_tools": "nova_tools_have_no_cache_point",
            "test_long_answer": "some_answers_are_limited",
            "test_thinks": "nova_has_no_other_fields",
        },
        "Llama 4": {
            "test_cached_by_itself": "some_cache_nothing",
            "test_cached_tools": "some_cache_nothing",
            "test_speaks_and_uses_a_tool_at_once": "llama_and_mistral_speak_or_use_a_tool",
            "test_structured_after_a_text": "some_are_not_forced_to_use_a_tool",
            "test_uses_a_tool": "some_stream_no_tools",
        },
    },
}
"""Suite -> model -> test -> the last rule that refuses it."""


@pytest.mark.parametrize("client", PLANTED)
def test_what_is_planted_is_named(client: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    suite = (SUITES / f"suite_{client}.py").read_text(encoding="utf-8")
    pytester.makepyfile(test_suite=suite)
    models = (*MODELS.values(), SONNET)
    result = pytester.runpytest(*OURS, "-W", "ignore", *(f"--converse-as={model}" for model in models))
    tests = suite.count("\ndef test_")
    result.assert_outcomes(passed=tests)
    named: dict[str, dict[str, str]] = {}
    lines: set[str] = set()
    model = ""
    for line in result.outlines:
        if line.startswith("rehearsed as "):
            model = line.removeprefix("rehearsed as ").partition(": ")[0]
            named[model] = {}
        elif line.startswith("  test_suite.py::"):
            test, _, rule, _, *_, where = (part.strip() for part in line.split("  ") if part.strip())
            named[model][test.partition("::")[2]] = rule
            lines.add(where.partition(":")[0])
    assert named == {**{MODELS[name]: rules for name, rules in PLANTED[client].items()}, SONNET: {}}
    assert lines == {"test_suite.py"}
    result.stdout.fnmatch_lines([f"rehearsed as {SONNET}: {tests} of {tests} tests would be accepted"])
