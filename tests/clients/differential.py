"""One drawn legal stream, all clients of the matrix: `nox -s differential`.

The steps run in different environments, and files lie between them:

    python -m tests.clients.differential draw STREAMS --streams 100
    python -m tests.clients.differential consume CLIENT STREAMS OUTCOMES     (in the environment of each client)
    python -m tests.clients.differential compare STREAMS OUTCOMES ...

`compare` prints, for each client and verdict, the smallest stream that this client does not read and another one does,
as code to paste. What is known is in KNOWN.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from converse_harness import ConverseServer, Reply, faults, reply
from converse_harness.contract import ConsumerContract, VerdictLevel
from converse_harness.contract.trying import attempt, opened

KINDS: Final = ("text", "toolUse", "reasoningContent")
"""The kinds of blocks that every client takes."""


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
    Known("pydantic_ai", "refused", "ContentFilterError", "it raises for an answer that the guardrail left empty"),
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
    found: list[str] = json.loads(streams.read_text(encoding="utf-8"))
    return [eval(code, {"reply": reply, "faults": faults}) for code in found]


def contract_of(client: str) -> ConsumerContract:
    """The contract for streams of a client of the matrix."""
    contract: ConsumerContract = import_module(f"tests.clients.matrix.test_{client}").TestStream()
    return contract


def consume(client: str, streams: Path, outcomes: Path) -> None:
    """Write what the client of this environment makes of each stream."""
    contract = contract_of(client)
    with ConverseServer() as server:
        rows = [_row(contract, answer, server) for answer in answers(streams)]
    outcomes.write_text(json.dumps({"client": client, "rows": rows}), encoding="utf-8")


def _row(contract: ConsumerContract, answer: Reply, server: ConverseServer) -> dict[str, Any]:
    seen = attempt(contract, "differential", [answer], opened(contract.transport, lambda: server)).seen
    # The contract knows what an agent leaves out or adds: tools that it does not have, the answer after a tool.
    return {"verdict": seen.verdict.words, "why": seen.verdict.why}


def disagreements(streams: Path, files: list[Path]) -> Iterator[str]:
    """For each client and verdict: the smallest stream that the client does not read, and that another one does."""
    codes: list[str] = json.loads(streams.read_text(encoding="utf-8"))
    read = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    smallest: dict[tuple[str, str], tuple[str, str]] = {}
    for number, code in enumerate(codes):
        rows: dict[str, dict[str, str]] = {each["client"]: each["rows"][number] for each in read}
        if len({row["verdict"] for row in rows.values()}) > 1:
            for client, row in rows.items():
                key = client, row["verdict"]
                fine = row["verdict"] == VerdictLevel.HANDLED.word or _is_known(client, row)
                if not fine and (key not in smallest or len(code) < len(smallest[key][1])):
                    smallest[key] = row["why"], code
    for (client, verdict), (why, code) in sorted(smallest.items()):
        yield f"{client}, {verdict}: {why}\n\nconverse.script(\n    {code}\n)\n"


def _is_known(client: str, row: Mapping[str, str]) -> bool:
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
    comparing = steps.add_parser("compare")
    comparing.add_argument("streams", type=Path)
    comparing.add_argument("outcomes", type=Path, nargs="+")
    given = parser.parse_args()
    if given.step == "draw":
        draw(given.streams, given.number, given.seed)
    elif given.step == "consume":
        consume(given.client, given.streams, given.outcomes)
    else:
        found = [*disagreements(given.streams, given.outcomes)]
        print("\n".join(found) or "All clients agree.")
        return int(bool(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
