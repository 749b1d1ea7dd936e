"""`converse-harness serve`: run the fake as a server for other processes and languages."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from converse_harness.cases import CASES
from converse_harness.cli.server_output import (
    ADDRESS,
    Ended,
    Watcher,
    announce,
    call_next,
    counted_in,
    forget,
    load,
    load_case,
    print_call,
    ready_file,
    running,
    when_stdin_closes,
)
from converse_harness.cli.terminal import BOLD, RED, Arguments, UsageFailed, say_now
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.script import Script
from converse_harness.errors import ConverseHarnessError, ReplyError
from converse_harness.features import functions_given, options_of
from converse_harness.recordings.play.ignored_parts import IgnoredParts
from converse_harness.recordings.play.matching import MATCHES
from converse_harness.server.control import ROOT, id_of
from converse_harness.server.control.reading import host_name
from converse_harness.server.listener import ConverseServer
from converse_harness.server.mounts import ServerFake
from converse_harness.settings import ONLY_SERVER, SETTINGS, Settings, unknown_name


def _checked(read: Callable[[str], Any], text: str) -> Any:
    """Return the result of `read` for the text of an argument. Raises ArgumentTypeError if `read` raises ReplyError.

    argparse prints the message of an ArgumentTypeError, but not that of a ReplyError.
    """
    try:
        return read(text)
    except ReplyError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _setting(name: str, text: str) -> object:
    allowed = SETTINGS[name].allowed
    value = allowed.read(text)
    if not allowed.test(value):
        raise argparse.ArgumentTypeError(f"{name}={text!r}; {allowed.in_text or allowed.said}")
    if unknown := unknown_name(name, value):
        raise argparse.ArgumentTypeError(f"{name}={text!r}; {unknown}")
    return value


def _host(text: str) -> str:
    if host_name(f"[{text}]" if ":" in text else text) != text.lower():
        raise argparse.ArgumentTypeError(f"{text!r} is no host; it is a name such as `fake.internal`, without a port")
    return text


def _match(rule: str) -> str:
    if rule not in MATCHES:
        raise argparse.ArgumentTypeError(f"{rule!r} is no rule; one of {', '.join(MATCHES)}")
    return rule


def _pace(text: str) -> float:
    with suppress(ValueError):
        factor = 1.0 if text == "recorded" else float(text)
        if 0 <= factor < float("inf"):
            return factor
    raise argparse.ArgumentTypeError(f"{text!r} is no pace; it is a number from 0 (no pauses), or `recorded` (1)")


def _ignored(path: str) -> str:
    IgnoredParts.of([path])
    return path


_SETTINGS: Final[Mapping[str, Any]] = {
    name: ONLY_SERVER.get(name, setting.default) for name, setting in SETTINGS.items() if "serve" in setting.where
}
"""Maps each setting of fakes that is an option of this command to its default."""

_PLAYED: Final = ("match", "pace", "ignore")
"""The command's options that apply only to a recording. A Python file passes such options to `recording(...)`."""

DESCRIPTION: Final = (
    "Serve the fake over HTTP/1.1 and HTTP/2 until Ctrl-C, and print a line for every call. The printed address with "
    "a token shows the calls in a browser while they happen. The control API at /__converse opens more fakes, each "
    "with a script and a URL of its own."
)
ARGUMENTS: Final[Arguments] = {
    "file": {
        "metavar": "FILE",
        "nargs": "?",
        "type": Path,
        "help": "a Python file that defines `script`, a list of replies, or a recording (.jsonl); without it there is "
        "only the control API",
    },
    "--case": {
        "metavar": "NAME",
        "type": partial(_checked, CASES.__getitem__),
        "help": "answer every call with this case of the catalogue (see `cases`)",
    },
    **options_of("serve"),
    "--match": {
        "metavar": "RULE",
        "type": _match,
        "help": "which exchange of a recording answers a call: the next in `order`, one of `exact`ly that request, or "
        "one of its `shape` (default)",
    },
    "--pace": {
        "metavar": "FACTOR",
        "type": _pace,
        "help": "what the pauses of a recording are multiplied by, or `recorded` for 1 (default: 0, no pauses)",
    },
    "--ignore": {
        "metavar": "PATH",
        "action": "append",
        "type": partial(_checked, _ignored),
        "help": "a part of requests that does not count when they are compared with a recording, such as system or "
        "'toolConfig.tools[*].description' (can be given again)",
    },
    **{
        f"--{name.replace('_', '-')}": {
            "metavar": name.upper(),
            "type": partial(_setting, name),
            "default": default,
            "help": SETTINGS[name].help(default),
        }
        for name, default in _SETTINGS.items()
    },
    **ADDRESS,
    "--allow-host": {
        "metavar": "NAME",
        "type": _host,
        "action": "append",
        "default": [],
        "help": "a name by which clients may ask the control API, beside those of the loopback and --host (can be "
        "given again); Bedrock's own paths answer under any name",
    },
    "--ready-file": {
        "metavar": "PATH",
        "type": Path,
        "help": 'write {"url": ..., "pid": ...} to this file when the server accepts connections, and remove the file '
        "at the end",
    },
    "--until-stdin-closes": {
        "action": "store_true",
        "help": "end when the standard input closes, and so with the program that started the server by a pipe",
    },
    "--reload": {"action": "store_true", "help": "start the script anew whenever FILE changes"},
}


def run(given: argparse.Namespace) -> int:
    """Serve a file's script, a case, improvised answers, or only the control API, until the process is interrupted.

    With --until-stdin-closes, return the exit code 0 when the standard input closes. The settings of fakes apply to
    every fake, unless a client of the control API chooses other values. Raises UsageFailed for contradictory arguments,
    and KeyboardInterrupt. Raises another ConverseHarnessError if a file or case is invalid, or if the server cannot
    start.
    """
    played = _how_played(given)
    forget(given.ready_file)
    watcher = Watcher(given.file) if given.reload else None
    script, what = _loaded(given, played)
    ended, closed = Ended(), threading.Event()
    server = ConverseServer(host=given.host, port=given.port, allow_hosts=given.allow_host)
    server.on_ended = lambda fake, call: ended.put(partial(_print_call, fake, call))
    server.settings = cast("Settings", {name: getattr(given, name) for name in _SETTINGS})
    with running(server, "serve", ended):
        fake = None
        if script is not None:
            fake = server.answer_all()
            fake.endpoint.script = script
        server.start()
        if given.until_stdin_closes:
            when_stdin_closes(lambda: ended.put(closed.set))
        with ready_file(given.ready_file, server.url):
            announce(f"Serving {what or 'the control API'}", server, {} if fake is None else fake.environ)
            while not closed.is_set():
                call_next(ended)
                if watcher is not None and fake is not None and watcher.changed():
                    _reload(given, played, fake)
    return 0


def _how_played(given: argparse.Namespace) -> dict[str, Any]:
    """Return the options for playing a recording. Raises UsageFailed if the command's arguments exclude each other."""
    if given.reload and given.file is None:
        raise UsageFailed("serve --reload needs the FILE that it watches")
    if given.case is not None and given.file is not None:
        raise UsageFailed("serve: FILE or --case, not both; a FILE may import converse_harness.cases.CASES")
    for option, _ in functions_given("serve", given) if given.case is not None else ():
        raise UsageFailed(f"serve: --case or {option}, not both; each of them answers every call")
    played = {name: value for name in _PLAYED if (value := getattr(given, name)) is not None}
    if played and (given.file is None or given.file.suffix != ".jsonl"):
        raise UsageFailed("serve: --match, --pace and --ignore are for a recording (.jsonl)")
    return played


def _print_call(fake: ServerFake, call: Call) -> None:
    name = id_of(fake)
    print_call(call, "" if name == ROOT else name)


def _loaded(given: argparse.Namespace, played: Mapping[str, Any]) -> tuple[Script | None, str]:
    """Return the script that the command's arguments name, and its description; None and "" if there is none."""
    if given.case is not None:
        return load_case(given.case), f"the case {given.case.name}"
    script = None if given.file is None else load(given.file, **played)
    what = [] if script is None else [counted_in(script)]
    for _, answers in functions_given("serve", given):
        script = script or Script()
        responder, text = answers()
        script.fallback.add([responder], endless=True)
        what.append(text)
    return script, " and ".join(what)


def _reload(given: argparse.Namespace, played: Mapping[str, Any], fake: ServerFake) -> None:
    """Load the changed file, and use its script for later calls. If this fails, keep the old script."""
    try:
        script, what = _loaded(given, played)
    except ConverseHarnessError as error:
        say_now(f"{error}\n          The script from before is served on.", RED)
    else:
        fake.endpoint.script = cast("Script", script)
        say_now(f"{given.file} has changed: serving {what} from the beginning", BOLD)
