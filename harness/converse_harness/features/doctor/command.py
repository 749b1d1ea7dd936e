"""`converse-harness doctor`: print versions, the load times of pytest's plugins, and whether a fake works."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import textwrap
import threading
from importlib.metadata import version
from typing import Any, Final

from converse_harness.cli.terminal import BOLD, DIM, RED, Arguments, CommandFailed, complain, plain, say
from converse_harness.features.doctor import checkup
from converse_harness.words import counted

DESCRIPTION: Final = (
    "Print what somebody needs who is to find out why something does not work here: versions, the plugins that pytest "
    "loads at its start and what each takes, the places of botocore that fakes replace and who else replaced them, "
    "environment variables by name. The exit code is 1 if something is broken; then it is printed what to do."
)
ARGUMENTS: Final[Arguments] = {
    "--json": {"action": "store_true", "help": "print all of it as one JSON object"},
}

_WIDTH: Final = 110
_MARGIN: Final = 13
_GLUE: Final = "\N{NO-BREAK SPACE}"
_PATIENCE: Final = 2.0
"""If the plugins take more seconds than this to load, the command prints that it is loading them."""


def run(given: argparse.Namespace) -> int:
    """Examine the environment and print the findings; return the exit code: 1 if something is broken, otherwise 0."""
    seen = _look()
    if given.json:
        say(json.dumps(seen, indent=2))
    else:
        _print(seen)
    return int(bool(seen["problems"]))


def _look() -> dict[str, Any]:
    """Examine the environment, and return the JSON object that `--json` prints."""
    entries = checkup.plugins()
    words = f"loading {counted(len(entries), 'pytest plugin')}, each in a process of its own ..."
    waiting = threading.Timer(_PATIENCE, complain, ("doctor", words))
    try:
        waiting.start()
    except RuntimeError as error:
        raise CommandFailed(
            f"it loads each plugin of pytest in a process of its own, from a thread, and this Python ({sys.platform}) "
            f"starts no thread: {error}. `converse-harness demo` shows whether a fake answers here"
        ) from error
    try:
        patched = checkup.patched()
        costs = checkup.costs(entries)
    finally:
        waiting.cancel()
    packages = checkup.packages()
    system, is_tried, lacking = checkup.system()
    problems = [each.problem for each in packages if each.problem]
    problems += [each.problem for each in costs if each.problem]
    if checkup.OWN_PLUGIN not in {each.name for each in entries}:
        problems.append(
            "pytest does not find the plugin of converse-harness in this environment: install it with the pip of this "
            "Python, `python -m pip install ...`"
        )
    if patched.problem:
        problems.append(plain(patched.problem))
    return {
        "converse-harness": version(checkup.OWN),
        "python": {"version": platform.python_version(), "tried": checkup.tried_pythons()},
        "system": {"name": system, "tried": is_tried, "lacks": lacking},
        "packages": [each._asdict() for each in packages],
        "plugins": [{**each._asdict(), "off": each.off} for each in costs],
        "plugins_together_ms": patched.ms,
        "patched": {"places": patched.places, "changed_by_others": dict(patched.changed)},
        "environment": checkup.environment(),
        "problems": problems,
    }


def _print(seen: dict[str, Any]) -> None:
    python, system = seen["python"], seen["system"]
    known = python["tried"]
    tried = "tried" if python["version"].rpartition(".")[0] in known else f"not tried; {', '.join(known)} are"
    say(
        f"converse-harness {seen['converse-harness']}, Python {python['version']} ({tried}), {system['name']} "
        f"({'tried' if system['tried'] else 'not tried'})",
        BOLD,
    )
    _row("packages", "  ".join(f"{each['name']}{_GLUE}{each['version'] or 'MISSING'}" for each in seen["packages"]))
    _row("plugins", "what pytest loads at its start, in milliseconds of CPU on this machine, and how to leave it out:")
    width = max((len(each["package"]) for each in seen["plugins"]), default=0)
    for each in seen["plugins"]:
        ms = "fails" if each["ms"] is None else f"{each['ms']:,.0f}"
        say(f"{'':{_MARGIN}}{ms:>6}  {each['package']:{width}}  {each['off']}", RED if each["error"] else "")
    say(f"{'':{_MARGIN}}{seen['plugins_together_ms']:6,.0f}  all together, as they share what they import", DIM)
    places, changed = seen["patched"].values()
    others = "; ".join(f"{place} was changed by {who}" for place, who in changed.items())
    _row("botocore", f"{places} places that a fake replaces: {others or 'nobody else changed them'}")
    names = ", ".join(seen["environment"])
    _row("environment", f"set: {names}" if names else "nothing set that matters")
    for each in system["lacks"]:
        _row("missing", each)
    problems = seen["problems"]
    say()
    for each in problems:
        say(textwrap.fill(each, _WIDTH, initial_indent="- ", subsequent_indent="  "), RED)
    say(f"{counted(len(problems), 'problem')}." if problems else "Nothing is broken: a fake answers botocore here.")


def _row(name: str, text: str) -> None:
    """Print a text with `name` before its first line; a long text is wrapped."""
    first, rest = f"{name:{_MARGIN}}", " " * _MARGIN
    lines = textwrap.fill(text, _WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    say(lines.replace(_GLUE, " "))
