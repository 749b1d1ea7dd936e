"""The command `converse-harness`. Each subcommand is a module that defines `DESCRIPTION`, `ARGUMENTS` and `run`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Any, Final

from converse_harness.cli.terminal import CommandFailed, UsageFailed, complain
from converse_harness.errors import ConverseHarnessError
from converse_harness.features import FEATURES, module_of

_COMMANDS: Final[Mapping[str, str]] = {
    "demo": "run a real boto client through a tool loop against the fake",
    "serve": "serve a script, or the control API, to other processes and languages",
    "cases": "list the catalogue: what can go wrong in an answer, by name",
    "record": "pass calls on to Bedrock and record them, for any program",
    "show": "show what was asked and answered, as it came",
    "check": "check recordings: format, legality, secrets, staleness",
    "diff": "show what differs between two recordings",
    "docs": "print a page of the documentation, or a section of it",
    **{name: text for feature in FEATURES.values() for name, text in feature.commands.items()},
}
"""Maps each command to its help text, in the order in which `--help` lists the commands."""


class _Terminated(BaseException):
    """Raised when the process receives one of the signals of _ENDING; the argument is the number of the signal."""


_ENDING: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals after which a command cleans up as after Ctrl-C. Windows has no SIGHUP."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` name, and return the exit code; None stands for the arguments of the process.

    The codes are 0 for success, 1 for failure, 2 for wrong usage, 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP.
    """
    if sys.stdout is None:  # the process was started without a standard output
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        return 130
    except _Terminated as terminated:
        return 128 + int(terminated.args[0])
    except BrokenPipeError:  # the program that reads our output, such as `head`, closed the pipe
        # At exit, Python flushes stdout. With the closed pipe this would fail, and the exit code would become 120.
        # Therefore stdout now leads to the null device.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(arguments: Sequence[str]) -> int:
    """Import the module of the command that `arguments` name, and run the command."""
    parser = argparse.ArgumentParser(
        prog="converse-harness", description="A fake Amazon Bedrock Converse endpoint for tests of agents."
    )
    parser.add_argument("--version", action="version", version=f"converse-harness {version('converse-harness')}")
    commands = parser.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")
    for name, meaning in _COMMANDS.items():
        command = commands.add_parser(name, help=meaning)
        if name in arguments:  # modules of other commands are not imported, to start faster
            module = module_of_command(name)
            command.description = module.DESCRIPTION
            for flags, options in module.ARGUMENTS.items():
                command.add_argument(*flags.split(), **options)
    _check_name(parser, arguments)
    given, unknown = parser.parse_known_args(arguments)
    if unknown:
        commands.choices[given.command].error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        with _terminated_by_signal():
            return int(module_of_command(given.command).run(given))
    except UsageFailed as error:
        commands.choices[given.command].error(str(error).removeprefix(f"{given.command}: "))
    except BrokenPipeError:
        raise  # handled by `main`
    except (CommandFailed, ConverseHarnessError, OSError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.filename:
            text = f"{error.filename}: {error.strerror}"
        complain(given.command, text)
        return error.code if isinstance(error, CommandFailed) else 1


def _check_name(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """End with an error that names a similar command if the first argument is neither an option nor a command."""
    name = arguments[0] if arguments else ""
    if name and not name.startswith("-") and name not in _COMMANDS:
        from difflib import get_close_matches

        close = get_close_matches(name, _COMMANDS, 1)
        advice = f"Did you mean {close[0]}?" if close else f"The commands are {', '.join(_COMMANDS)}."
        parser.error(f"there is no command {name!r}. {advice}")


def module_of_command(command: str) -> Any:
    """Import and return the module of a command, which has `DESCRIPTION`, `ARGUMENTS` and `run`."""
    feature = next((name for name, row in FEATURES.items() if command in row.commands), None)
    return import_module(f"{__name__}.{command}") if feature is None else module_of(feature, "command")


@contextmanager
def _terminated_by_signal() -> Generator[None]:
    """During a `with` block, raise _Terminated in the main thread when the process receives SIGTERM or SIGHUP.

    A signal that is ignored, such as SIGHUP under `nohup`, stays ignored.
    """

    def terminate(number: int, _frame: object) -> None:
        raise _Terminated(number)

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can set signal handlers
        return
    before = {each: handler for each in _ENDING if (handler := signal.getsignal(each)) != signal.SIG_IGN}
    for each in before:
        signal.signal(each, terminate)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
