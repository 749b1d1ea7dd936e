"""Writes docs/frameworks.md: `python -m tests.clients.pinned.frameworks.page`."""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, Final, NamedTuple

FOLDER: Final = Path(__file__).parent
PAGE: Final = FOLDER.parents[3] / "docs" / "frameworks.md"

SCENARIOS: Final = {
    "test_text": "text",
    "test_conversation": "conversation",
    "test_stream": "stream",
    "test_async": "async",
    "test_tool_use": "tool use",
    "test_tool_loop": "tool loop",
    "test_streamed_tool_loop": "streamed tool loop",
    "test_throttled": "throttled",
    "test_overflow": "overflow",
    "test_guardrail": "guardrail",
}
"""The tests that a suite may have, and what the page calls them."""

INTRODUCTION: Final = """\
# Agent frameworks

You test a program that is built on a framework. The framework runs unchanged, as in production: it makes its own
client, and the fixture [`converse`](fixtures.md) answers this client. A suite for a framework looks like this one for
Strands Agents:

```python
from converse_harness import reply
from strands import Agent, tool
from strands.models import BedrockModel


@tool
def get_weather(city: str) -> str:
    \"\"\"Look up the weather.\"\"\"
    return f"18 °C in {city}"


def test_looks_up_the_weather(converse):
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C"))
    assert "18 °C" in str(Agent(BedrockModel(), tools=[get_weather], callback_handler=None)("How warm is it in Bern?"))
    asked, answered = converse.calls
    assert asked.tool_names == ["get_weather"]
    assert answered.tool_results[0]["content"] == [{"text": "18 °C in Bern"}]
```

## Those that were tried

Each of the frameworks below was tried in an environment of its own. The test project has only the setting
`converse_guard = session`: no keys, no region, no endpoint, no patches. *Needs* names what a test needs besides the
fixture. Each framework has a small test suite in the repository, in `tests/clients/pinned/frameworks/`; *seen* lists
its tests. In the test **text** the framework gets one answer. In **conversation** the test asks a second question. In
**stream** the answer is read piece by piece, and **async** uses the framework's asynchronous API. In **tool use** the
framework returns the tool that the model chose. In **tool loop** the framework runs the tool, sends the result and gets
a text; in **streamed tool loop** both answers are streams. In **throttled** a 429 comes first, and then an answer. In
**overflow** the request is too long, and in **guardrail** a guardrail has intervened.
"""

AFTER_THE_TABLE: Final = """\
Strands Agents, LangChain, Pydantic AI, LiteLLM and the SDKs are not in this table: [the matrix](matrix.md) shows what
they do with every case. A framework that is in neither table usually uses one of the clients of the matrix. The page on
[transports](transports.md) names the fixture for each client.

Notes on some of the frameworks:
"""

ONE_LINE: Final = """\
## One setting

Some frameworks look for keys themselves. If they find none, they raise an error before they make a client. With this
setting, a test with a fake has dummy keys and a region in its environment:

```ini
[pytest]
converse_environ = true
```

The marker `@pytest.mark.converse(environ=True)` does the same for one test, class or module. The code under test then
finds these dummy keys:

```python
import boto3
import pytest


@pytest.mark.converse(environ=True)
def test_finds_keys(converse):
    assert boto3.Session().get_credentials() is not None
```

The setting is off by default, because some libraries are tested without keys on purpose. Without it, these frameworks
raise an error:
"""

WRONG: Final = """\
## What they do wrong

These are bugs of the released frameworks; they appear with ordinary answers of Bedrock. A test of the suite shows each
bug, and fails once the framework is corrected. [Another page](found.md) lists bugs of this kind in other clients.
"""

AGAIN: Final = """\
## Try it again

`nox -s frameworks` tries all frameworks; `nox -s frameworks -- dspy mem0` tries only these two. For a newer version,
change `tests/clients/pinned/frameworks/frameworks.toml`, run the session, and write this page with
`python -m tests.clients.pinned.frameworks.page`.
"""


class Framework(NamedTuple):
    """A framework as it was tried; the members are those of frameworks.toml."""

    name: str
    title: str
    requires: list[str]
    python: str
    seen: date
    line: str = ""
    why: str = ""
    note: str = ""
    wrong: str = ""
    environ: dict[str, str] = {}  # noqa: RUF012 - a default of a NamedTuple, which nobody changes

    @property
    def suite(self) -> str:
        """The text of its tests."""
        return (FOLDER / f"test_{self.name}.py").read_text(encoding="utf-8")

    @property
    def tests(self) -> list[str]:
        """The names of its tests."""
        return re.findall(r"^def (test_\w+)\(", self.suite, re.MULTILINE)


def frameworks() -> dict[str, Framework]:
    """The frameworks by name."""
    rows: dict[str, dict[str, Any]] = tomllib.loads((FOLDER / "frameworks.toml").read_text(encoding="utf-8"))
    return {name: Framework(name, **row) for name, row in rows.items()}


def page() -> str:
    """docs/frameworks.md."""
    tried = sorted(frameworks().values(), key=lambda framework: framework.title.lower())
    whys = "".join(_item(f"{f.title}: {f.why}") for f in tried if f.why)
    notes = "".join(_item(f"{f.title}: {f.note}") for f in tried if f.note)
    wrongs = "".join(_item(f"{f.title} {_version(f)}: {f.wrong}") for f in tried if f.wrong)
    table = "\n".join(_table(tried))
    return "\n".join([INTRODUCTION, table + "\n", AFTER_THE_TABLE, notes, ONE_LINE, whys, WRONG, wrongs, AGAIN])


def _item(text: str) -> str:
    lines = textwrap.wrap(f"- {text}", 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def _version(framework: Framework) -> str:
    return framework.requires[0].partition("==")[2]


def _table(tried: list[Framework]) -> Iterator[str]:
    yield "| framework | packages | Python | needs | seen | on |"
    yield "|---|---|---|---|---|---|"
    for framework in tried:
        packages = ", ".join(requirement.replace("==", " ") for requirement in framework.requires)
        seen = ", ".join(SCENARIOS[test] for test in SCENARIOS if test in framework.tests)
        wrong = "[errors](#what-they-do-wrong)" if framework.wrong else ""
        needs = "[one setting](#one-setting)" if framework.line else "nothing"
        cells = [framework.title, packages, framework.python, needs, ", ".join(filter(None, (seen, wrong)))]
        yield f"| {' | '.join(cells)} | {framework.seen} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
