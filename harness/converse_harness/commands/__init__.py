"""The commands: a module each, with `add_arguments` and `run`.

They are imported by every start of the command, so what is heavy is imported inside `run`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from converse_harness.commands import cases, check, demo, diff, docs, import_, record, serve, show


class Command(NamedTuple):
    """One command: what `--help` says in a line, how its arguments are declared, and what runs it."""

    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.ArgumentParser, argparse.Namespace], int]


COMMANDS: Final[Mapping[str, Command]] = {
    "demo": Command("run a real boto client through a tool loop against the fake", demo.add_arguments, demo.run),
    "serve": Command(
        "serve a script, or the control API, to other processes and languages", serve.add_arguments, serve.run
    ),
    "cases": Command("list the catalogue: what can go wrong in an answer, by name", cases.add_arguments, cases.run),
    "record": Command("pass calls on to Bedrock and record them, for any program", record.add_arguments, record.run),
    "show": Command("show what was asked and answered, as it came", show.add_arguments, show.run),
    "check": Command("check recordings: format, legality, secrets, staleness", check.add_arguments, check.run),
    "diff": Command("show what differs between two recordings", diff.add_arguments, diff.run),
    "docs": Command("print a page of the documentation, or a section of it", docs.add_arguments, docs.run),
    "import": Command("make recordings of vcrpy's cassettes", import_.add_arguments, import_.run),
}
"""The commands by name, in the order in which `--help` lists them."""
