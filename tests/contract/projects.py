"""A project of somebody else that tests a consumer of its own with the contract kit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest

from tests.nested import OURS

CONSUMER: Final = '''
"""A consumer of ConverseStream, as people write them."""

import json


class BrokenAnswer(Exception):
    """The stream broke its order, or did not come to its end."""


def ask(client, **request):
    """One answer: its text, the tools that it asks for, its stop reason."""
    blocks, reason = {}, None
    for event in client.converse_stream(**request)["stream"]:
        ((kind, member),) = event.items()
        if kind == "messageStop":
            reason = member["stopReason"]
        elif kind in ("contentBlockStart", "contentBlockDelta"):
            if reason or "contentBlockIndex" not in member:
                raise BrokenAnswer(f"a {kind} that belongs to no block")
            block = blocks.setdefault(member["contentBlockIndex"], {"text": "", "input": "", "thought": ""})
            if kind == "contentBlockStart":
                block["tool"] = member["start"].get("toolUse")
            elif "text" in member["delta"]:
                block["text"] += member["delta"]["text"]
            elif "toolUse" in member["delta"]:
                block["input"] += member["delta"]["toolUse"]["input"]
            elif "text" in member["delta"].get("reasoningContent", {}):
                block["thought"] += member["delta"]["reasoningContent"]["text"]
    if reason is None:
        raise BrokenAnswer("no messageStop")
    tools = [block for block in blocks.values() if block.get("tool") and block["tool"].get("type") != "server_tool_use"]
    try:
        calls = [(block["tool"]["name"], json.loads(block["input"] or "{}")) for block in tools]
    except ValueError as error:
        raise BrokenAnswer("the input of a tool is no JSON") from error
    return "".join(block["text"] for block in blocks.values()), calls, reason
'''
"""A consumer as people write them, in forty lines; it does all that it must."""

CONTRACT: Final = """
from consumer import ask
from converse_harness.contract import ConsumerContract, Outcome, Target, ToolCall


class TestConsumer(ConsumerContract):
    def consume(self, target: Target) -> Outcome:
        text, calls, reason = ask(target.client, **target.request)
        return Outcome(text, [ToolCall(*call) for call in calls], reason)
"""
"""Its test."""


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run its pytest with our plugin alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        project.syspathinsert()
        return project.runpytest_inprocess(*OURS, "-p", "no:cacheprovider", "--junit-xml=report.xml", *arguments)


def outcomes(project: pytest.Pytester) -> dict[str, str]:
    """Of each test that did not pass: failure, error or skipped; by the class and the case."""
    found: dict[str, str] = {}
    for case in _tests(project):
        for outcome in ("failure", "error", "skipped"):
            if case.find(outcome) is not None:
                found[_name(case)] = outcome
    return found


def told(project: pytest.Pytester) -> dict[str, Mapping[str, Any]]:
    """What the reports say of each test: its level, flaw and why."""
    return {
        _name(case): json.loads(each.attrib["value"])
        for case in _tests(project)
        for each in case.iter("property")
        if each.attrib["name"] == "converse_contract"
    }


def _tests(project: pytest.Pytester) -> list[ET.Element]:
    report = ET.fromstring(Path(project.path, "report.xml").read_text(encoding="utf-8"))
    return list(report.iter("testcase"))


def _name(case: ET.Element) -> str:
    module, _, contract = case.attrib["classname"].rpartition(".")
    test = case.attrib["name"].partition("[")[2].removesuffix("]")
    return test if contract == "TestConsumer" else f"{contract or module}.{test}"
