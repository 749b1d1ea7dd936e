"""One drawn legal stream, all clients of the matrix: `nox -s differential`.

The steps run in different environments, and files lie between them:

    python -m tests.clients.differential draw STREAMS --streams 100
    python -m tests.clients.differential consume CLIENT STREAMS OUTCOMES     (in the environment of each client)
    python -m tests.clients.differential compare STREAMS OUTCOMES ...

`compare` prints, for each client and verdict, a stream that this client does not read and on which another one
disagrees, as code to paste. It shrinks the stream, and for this asks both clients again, each in its environment. What
is known is in KNOWN.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, redirect_stdout
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from converse_harness import ConverseServer, Reply, faults, reply
from converse_harness.contract import ConsumerContract, Flaw, VerdictLevel
from converse_harness.contract.trying import attempt, opened
from tests.clients.matrix.javascript import JavaScriptContract
from tests.clients.pinned.javascript.conftest import with_packages
from tests.clients.shrinking import shrunk

KINDS: Final = ("text", "toolUse", "reasoningContent")
"""The kinds of blocks that every client takes."""

NEEDED: Final = ("CONVERSE_NODE_MODULES",)
"""The variables that a client needs to be asked, besides those of every process."""

Row = dict[str, str]
"""What a client makes of a stream: its `verdict`, and `why`."""


class Known(NamedTuple):
    """What a client does otherwise than others: its verdict, a regular expression for the reason, and why it is so."""

    client: str
    verdict: str
    why: str
    about: str


_LITELLM_STOPS: Final = "stop reason stop; it was (malformed_|model_context_window_exceeded)"
_KEPT: Final = "it gives stop reasons that it does not know as stop"

KNOWN: Final = (
    Known(
        "strands", "mishandled: lost", "is missing", "it runs no tool of an answer that stopped otherwise than tool_use"
    ),
    Known("litellm_sync", "mishandled: silent success", _LITELLM_STOPS, _KEPT),
    Known("litellm_async", "mishandled: silent success", _LITELLM_STOPS, _KEPT),
    Known("pydantic_ai", "mishandled: wrong error", "UnicodeDecodeError", "it reads redacted reasoning as UTF-8"),
    Known(
        "ai_sdk",
        "mishandled: corrupted",
        r"tool call that was not sent so: .*((?<![.\d])\d{16,}|1e\+30\b)",
        "JavaScript's numbers are doubles, so JSON.parse rounds integers beyond 2**53 in inputs",
    ),
)


def draw(streams: Path, number: int, seed: int) -> None:
    """Write streams that clients are to read, each as code."""
    from hypothesis import Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesis.vendor.pretty import pretty

    from converse_strategies import replies

    drawn: list[str] = []

    @seeded(seed)
    @settings(max_examples=number, database=None, deadline=None, derandomize=False, phases=[Phase.generate])
    @given(replies(kinds=KINDS))
    def each(answer: Reply) -> None:
        drawn.append(pretty(answer))

    each()
    streams.write_text(json.dumps(drawn), encoding="utf-8")


def answers(streams: Path) -> list[Reply]:
    """The streams of a file."""
    return [answer(code) for code in json.loads(streams.read_text(encoding="utf-8"))]


def answer(code: str) -> Reply:
    answer: Reply = eval(code, {"reply": reply, "faults": faults})
    return answer


def contract_of(client: str) -> ConsumerContract:
    """The contract for streams of a client of the matrix."""
    contract: ConsumerContract = import_module(f"tests.clients.matrix.test_{client}").TestStream()
    return contract


@contextmanager
def _ready(contract: ConsumerContract) -> Generator[ConverseServer]:
    """A server for the contract, and for a JavaScript client its Node."""
    with ExitStack() as stack:
        if isinstance(contract, JavaScriptContract):
            folder = stack.enter_context(TemporaryDirectory())
            stack.enter_context(contract.started(with_packages(Path(folder))))
        yield stack.enter_context(ConverseServer())


def consume(client: str, streams: Path, outcomes: Path) -> None:
    """Write what the client of this environment makes of each stream, and how it is asked again."""
    contract = contract_of(client)
    with _ready(contract) as server:
        rows = [_row(contract, answer, server) for answer in answers(streams)]
    environ = {name: os.environ[name] for name in NEEDED if name in os.environ}
    kept = {"client": client, "rows": rows, "python": sys.executable, "environ": environ}
    outcomes.write_text(json.dumps(kept), encoding="utf-8")


def ask(client: str) -> None:
    """Read a stream from each line of standard input; print what the client of this environment makes of it."""
    contract, out = contract_of(client), sys.stdout
    with _ready(contract) as server, redirect_stdout(sys.stderr):  # some clients print
        for line in sys.stdin:
            print(json.dumps(_row(contract, answer(json.loads(line)), server)), file=out, flush=True)


def _row(contract: ConsumerContract, answer: Reply, server: ConverseServer) -> Row:
    seen = attempt(contract, "differential", [answer], opened(contract.transport, [answer], lambda: server)).seen
    # The contract knows what an agent leaves out or adds: tools that it does not have, the answer after a tool.
    return {"verdict": seen.verdict.words, "why": seen.verdict.why}


class ClientProcesses:
    """Clients in their environments, from the files of outcomes; each process starts when its client is asked first."""

    def __init__(self, files: list[Path]) -> None:
        self._kept = {kept["client"]: kept for kept in map(_read, files)}
        self._started: dict[str, subprocess.Popen[str]] = {}

    def ask(self, client: str, code: str) -> Row:
        """What a client makes of a stream. Raises RuntimeError if its process ended."""
        if client not in self._started:
            kept = self._kept[client]
            self._started[client] = subprocess.Popen(
                [kept["python"], "-m", "tests.clients.differential", "ask", client],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                env={**os.environ, **kept["environ"]},
            )
        process = self._started[client]
        assert process.stdin is not None
        assert process.stdout is not None
        print(json.dumps(code), file=process.stdin, flush=True)
        if not (line := process.stdout.readline()):
            raise RuntimeError(f"{client} ended while it was asked; its error is above. It was asked for {code}")
        row: Row = json.loads(line)
        return row

    def close(self) -> None:
        """End the processes, and wait for their ends."""
        for process in self._started.values():
            process.communicate()


def _read(outcomes: Path) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(outcomes.read_text(encoding="utf-8"))
    return kept


class Disagreement(NamedTuple):
    """A stream as code, what a client makes of it, and another client with another verdict."""

    client: str
    row: Row
    other: str
    verdict_of_other: str
    code: str

    def __str__(self) -> str:
        seen = f"{self.client}, {self.row['verdict']}: {self.row['why']}\n{self.other}, {self.verdict_of_other}"
        return f"{seen}\n\nconverse.script(\n    {self.code}\n)\n"

    def shrunk(self, ask: Callable[[str, str], Row]) -> Disagreement:
        """The same disagreement on a smaller stream: of the same clients, with the same verdicts, on the same part."""
        from hypothesis.vendor.pretty import pretty

        if Flaw.HANGS.word in self.row["verdict"]:  # each try would take the whole time limit
            return self
        smallest = self

        def holds(candidate: Reply) -> bool:
            nonlocal smallest
            code = pretty(candidate)
            row = ask(self.client, code)
            same = (row["verdict"], _part(row)) == (self.row["verdict"], _part(self.row))
            if not same or _is_known(self.client, row):
                return False
            if ask(self.other, code)["verdict"] != self.verdict_of_other:
                return False
            smallest = self._replace(row=row, code=code)
            return True

        shrunk(answer(self.code), holds)
        return smallest


def _part(row: Row) -> str:
    """The part of an answer that a reason is about, or the name of the error: its first word; of a text nothing."""
    first = row["why"].partition(" ")[0].rstrip(":")
    return first if first.isidentifier() else ""


def disagreements(streams: Path, files: list[Path]) -> list[Disagreement]:
    """For each client and verdict: the smallest drawn stream that it does not read, and that another one reads."""
    codes: list[str] = json.loads(streams.read_text(encoding="utf-8"))
    read = [*map(_read, files)]
    smallest: dict[tuple[str, str], Disagreement] = {}
    for number, code in enumerate(codes):
        rows: dict[str, Row] = {each["client"]: each["rows"][number] for each in read}
        for client, row in rows.items():
            others = {name: each["verdict"] for name, each in rows.items() if each["verdict"] != row["verdict"]}
            fine = row["verdict"] == VerdictLevel.HANDLED.word or _is_known(client, row)
            key = client, row["verdict"]
            if others and not fine and (key not in smallest or len(code) < len(smallest[key].code)):
                other = min(others, key=lambda name: others[name] != VerdictLevel.HANDLED.word)
                smallest[key] = Disagreement(client, row, other, others[other], code)
    return [smallest[key] for key in sorted(smallest)]


def _is_known(client: str, row: Row) -> bool:
    return any(
        (client, row["verdict"]) == (known.client, known.verdict) and re.search(known.why, row["why"])
        for known in KNOWN
    )


def main() -> int:
    """Take one of the steps; compare returns 1 if clients disagree."""
    parser = argparse.ArgumentParser(prog="python -m tests.clients.differential", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    drawing = steps.add_parser("draw")
    drawing.add_argument("streams", type=Path)
    drawing.add_argument("--streams", dest="number", type=int, default=100)
    drawing.add_argument("--seed", type=int, default=0)
    consuming = steps.add_parser("consume")
    consuming.add_argument("client")
    consuming.add_argument("streams", type=Path)
    consuming.add_argument("outcomes", type=Path)
    asking = steps.add_parser("ask")
    asking.add_argument("client")
    comparing = steps.add_parser("compare")
    comparing.add_argument("streams", type=Path)
    comparing.add_argument("outcomes", type=Path, nargs="+")
    given = parser.parse_args()
    if given.step == "draw":
        draw(given.streams, given.number, given.seed)
    elif given.step == "consume":
        consume(given.client, given.streams, given.outcomes)
    elif given.step == "ask":
        ask(given.client)
    else:
        found = disagreements(given.streams, given.outcomes)
        processes = ClientProcesses(given.outcomes)
        try:
            print("\n".join(str(each.shrunk(processes.ask)) for each in found) or "All clients agree.")
        finally:
            processes.close()
        return int(bool(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
