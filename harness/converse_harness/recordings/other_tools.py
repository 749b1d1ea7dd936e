"""Sessions that other tools recorded: known by how their files begin, so that a report can say what it found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

__all__ = ["other_tool"]

_YAML: Final = r"(?:---\s*\n)?"
_TOOLS: Final[Mapping[str, str]] = {
    "Ruby's VCR": _YAML + r"http_interactions:",
    "betamax": r'\{\s*"http_interactions":',
    "httpmock, which rig uses": _YAML + r"when:\s[\s\S]*?^then:\s",
    "go-vcr": _YAML + r"(?:version: \d\n)?interactions:\n(?![\s\S]*^ +uri:)[\s\S]*?^ +url:",
    "PHP-VCR": _YAML + r"-\s+request:\s*\n\s+method:[^\n]*\n\s+url:",
    "WireMock": r'\{[\s\S]{0,999}?(?:"mappings":\s*\[|"request":\s*\{[\s\S]{0,999}?"url\w*":)',
    "Polly.js or another that writes HAR": r'\{\s*"log":\s*\{',
    "MockServer": r'[\[{][\s\S]{0,999}?"httpRequest":\s*\{',
    "Mountebank": r'\{[\s\S]{0,999}?"(?:imposters|stubs)":\s*\[',
    "Hoverfly": r'\{\s*"data":\s*\{\s*"pairs":\s*\[',
    "nock": r'\[\s*\{\s*"scope":',
}
"""A pattern for the beginning of each tool's files, as its documentation or public repositories show them."""

_COMPILED: Final = {tool: re.compile(pattern, re.MULTILINE) for tool, pattern in _TOOLS.items()}
_BEGINNING: Final = 64 * 1024


def other_tool(text: str) -> str | None:
    """The tool whose file this is, if it is one that is known."""
    beginning = text[:_BEGINNING].lstrip()
    return next((tool for tool, pattern in _COMPILED.items() if pattern.match(beginning)), None)
