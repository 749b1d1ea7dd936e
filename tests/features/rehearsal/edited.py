"""Suites as they are rehearsed, and as they run with the model id edited by hand; run as a script, it writes the table.

`python -m tests.features.rehearsal.edited` needs every client of `CLIENTS`. It writes what it measured to
docs/upgrade.md.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.nested import OURS

HERE: Final = Path(__file__).parent
SUITES: Final = HERE / "suites"
PAGE: Final = HERE.parents[2] / "docs" / "upgrade.md"

SONNET: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
"""The model that the suites were written for."""

MODELS: Final[Mapping[str, str]] = {
    "Opus 5": "us.anthropic.claude-opus-5",
    "Nova Pro": "us.amazon.nova-pro-v1:0",
    "Llama 4": "us.meta.llama4-maverick-17b-instruct-v1:0",
}

CLIENTS: Final[Mapping[str, str]] = {
    "boto3": "boto3",
    "strands": "strands-agents",
    "langchain_aws": "langchain-aws",
    "pydantic_ai": "pydantic-ai-slim",
}
"""The suites and their distributions."""

CONFTEST: Final = """
import json


def pytest_runtest_logreport(report):
    properties = [value for name, value in report.user_properties if name == "converse_rehearsal"]
    with open("reports.jsonl", "a") as file:
        made = {"test": report.nodeid.partition("::")[2], "when": report.when, "text": report.longreprtext}
        file.write(json.dumps({**made, "rehearsed": properties}) + "\\n")
"""

_RULE: Final = re.compile(r"RefusedRequest: Bedrock would refuse.*?^E? *rule +(\w+):", re.DOTALL | re.MULTILINE)

_ROW: Final = re.compile(r"^\| \w[^|]*\| (?:Opus|Nova|Llama)[^\n]*$", re.MULTILINE)


class Compared(NamedTuple):
    """A suite and a model: the first rule that rehearsal names for each test, all rules, and the rule really met.

    `failed` are all tests that do not pass with the model id edited.
    """

    first: Mapping[str, str]
    named: Mapping[str, frozenset[str]]
    met: Mapping[str, str]
    failed: frozenset[str]

    @property
    def raised(self) -> int:
        """How many of the tests that rehearsal names fail without a refusal, because the client itself raises."""
        return len(self.failed & self.first.keys() - self.met.keys())

    @property
    def right(self) -> int:
        """How many tests are refused for what rehearsal names first."""
        return sum(self.met.get(test) == rule for test, rule in self.first.items())

    @property
    def found(self) -> int:
        """How many of the rules really met rehearsal names."""
        return sum(rule in self.named.get(test, ()) for test, rule in self.met.items())


def compare(client: str, folder: Path) -> Iterator[tuple[str, Compared]]:
    """Run the suite of a client as it is, rehearsed, and once for each model with the id edited by hand."""
    options = [f"--converse-as={model}" for model in MODELS.values()]
    reports = _run(client, folder / "as_it_is", SONNET, *options)
    broken = [report["test"] for report in reports if report["text"]]
    assert not broken, f"{broken} of {client} do not pass as they are"
    calls = {
        report["test"]: [call for _, _, _, refused, _ in made[0] for call in refused]
        for report in reports
        for made in report["rehearsed"]
    }
    for index, (name, model) in enumerate(MODELS.items()):
        of_model = {test: [call[3] for call in found if call[0] == index] for test, found in calls.items()}
        met: dict[str, str] = {}
        failed: set[str] = set()
        for report in _run(client, folder / name.replace(" ", "_"), model):
            if report["text"]:
                failed.add(report["test"])
            if (rule := _RULE.search(report["text"])) is not None:
                met[report["test"]] = rule[1]
        first = {test: rules[0] for test, rules in of_model.items() if rules}
        yield (
            name,
            Compared(first, {test: frozenset(rules) for test, rules in of_model.items()}, met, frozenset(failed)),
        )


def _run(client: str, folder: Path, model: str, *options: str) -> list[dict[str, Any]]:
    folder.mkdir()
    suite = (SUITES / f"suite_{client}.py").read_text(encoding="utf-8")
    assert SONNET in suite
    (folder / "test_suite.py").write_text(suite.replace(SONNET, model), encoding="utf-8")
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    plugins = ("-p", "no:cacheprovider", "-W", "ignore", *OURS)
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "AWS_EC2_METADATA_DISABLED": "true"}
    command = [sys.executable, "-m", "pytest", "-q", *plugins, *options]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [json.loads(line) for line in (folder / "reports.jsonl").read_text(encoding="utf-8").splitlines()]


def rows_of(client: str, folder: Path) -> Iterator[str]:
    """The rows of the page's table for a client."""
    for name, made in compare(client, folder):
        title = f"{CLIENTS[client]} {version(CLIENTS[client])}"
        precision, recall = f"{made.right} of {len(made.first)}", f"{made.found} of {len(made.met)}"
        yield f"| {title} | {name} | {precision} | {recall} | {made.raised} |"


def rows_on_the_page() -> list[str]:
    """The rows that docs/upgrade.md has."""
    return _ROW.findall(PAGE.read_text(encoding="utf-8"))


def main() -> None:
    """Measure every client, and write the rows to the page with today's date."""
    with tempfile.TemporaryDirectory() as name:
        rows: list[str] = []
        for client in CLIENTS:
            (Path(name) / client).mkdir()
            rows += rows_of(client, Path(name) / client)
    text = PAGE.read_text(encoding="utf-8")
    first, *_, last = [*_ROW.finditer(text)] * 2  # the page has one row at least
    text = text[: first.start()] + "\n".join(rows) + text[last.end() :]
    today = datetime.now(UTC).date()
    PAGE.write_text(re.sub(r"(?<=measured on )\d{4}-\d\d-\d\d", str(today), text), encoding="utf-8")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
