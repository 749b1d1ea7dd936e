"""`converse-harness import`: cassettes of vcrpy become recordings, one by one or whole folders."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO, get_args

from converse_harness.cli.terminal import add_redact, redaction_of

if TYPE_CHECKING:
    from converse_harness.cli.terminal import Printer
    from converse_harness.recordings.import_cassettes import Hosts, Imported
    from converse_harness.recordings.redaction import Redaction

_CASSETTES: Final = re.compile(r"\.(?:yaml|yml|json)(?:\.gz)?$", re.IGNORECASE)
"""How the names of cassettes end in a folder; for the name of the recording it is cut off."""

_PATIENCE: Final = 2.0
"""Seconds without a word before the progress is shown."""

_SHOWN_HOSTS: Final = 5

_DESCRIPTION: Final = (
    "Make recordings of vcrpy's cassettes: YAML or JSON, plain or gzip, as pytest-recording and others write them. "
    "Interactions with Bedrock become exchanges, in their order; others are left alone and counted. What is written is "
    "read again, and each answer that it replays compared with the cassette's. A cassette has no times: a recording of "
    "one is without pauses, each event in a chunk of its own. What was compressed on its way is decoded. Tags in YAML "
    "are never executed."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `import`."""
    parser.description = _DESCRIPTION
    parser.add_argument("paths", metavar="CASSETTE", nargs="+", type=Path, help="a cassette, or a folder of them")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="the recording to write, if it ends in .jsonl; else the folder to write to, where a folder of cassettes "
        "is mirrored (default: beside each cassette)",
    )
    parser.add_argument(
        "--host",
        metavar="HOST",
        action="append",
        default=[],
        type=_host,
        help="a host that passes on to Bedrock: a proxy, a VPC endpoint with a name of its own, a server of a test "
        "(NAME or NAME:PORT, can be given again); also what a filter put in its place, such as '<HOST>'",
    )
    add_redact(parser)
    parser.add_argument("--force", action="store_true", help="overwrite recordings that are there already")


def run(parser: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    """Import the cassettes; return the exit code, 1 if nothing was imported or an import failed."""
    from converse_harness.intercept.hosts import is_bedrock_host
    from converse_harness.recordings.import_cassettes import Hosts

    redaction = redaction_of(parser, given)
    jobs = list(_jobs(parser, given.paths, given.output))
    hosts = Hosts(is_bedrock_host, frozenset(given.host))
    return _Import(hosts, redaction, given.force, sys.stdout, sys.stderr).run(jobs)


class _Job(NamedTuple):
    """A cassette, the path of its recording, and whether the user named the file or its folder."""

    source: Path
    target: Path
    named: bool


def _host(text: str) -> str:
    name = text.rpartition("//")[2].rstrip("/").lower()
    if not name or set(name) & set("/?#@"):
        raise argparse.ArgumentTypeError(f"{text!r} is no host; it is NAME or NAME:PORT, as the report tells it")
    return name


def _jobs(parser: argparse.ArgumentParser, paths: Sequence[Path], output: Path | None) -> Iterator[_Job]:
    one_file = output is not None and output.suffix == ".jsonl"
    if one_file and (len(paths) > 1 or paths[0].is_dir()):
        parser.error(f"import: {output} is one recording; for several cassettes -o is a folder")
    for path in paths:
        if path.is_dir():
            found = sorted(each for each in path.rglob("*") if _CASSETTES.search(each.name) and each.is_file())
            if not found:
                parser.error(f"import: in {path} is no file that ends in .yaml, .yml or .json, with or without .gz")
            for each in found:
                folder = each.parent if output is None else output / each.parent.relative_to(path)
                yield _Job(each, folder / _recording_name(each), named=False)
        elif path.exists():
            folder = path.parent if output is None else output
            yield _Job(path, output if one_file and output else folder / _recording_name(path), named=True)
        else:
            parser.error(f"import: there is no {path}")


def _recording_name(cassette: Path) -> str:
    return f"{_CASSETTES.sub('', cassette.name)}.jsonl"


@dataclass(slots=True)
class _Import:
    """One run of the command, with its counters."""

    hosts: Hosts
    redaction: Redaction
    force: bool
    out: TextIO
    err: TextIO
    written: dict[Path, Path] = field(default_factory=dict[Path, Path])
    verdicts: Counter[str] = field(default_factory=Counter[str])
    alone: Counter[str] = field(default_factory=Counter[str])
    others: Counter[str] = field(default_factory=Counter[str])
    without: int = 0
    refused: int = 0

    def run(self, jobs: Sequence[_Job]) -> int:
        """Import every cassette, and report the result of each and the totals."""
        from converse_harness.cli.terminal import Printer

        printer = Printer(self.out)
        progress = _Progress(self.err, len(jobs))
        for job in jobs:
            progress.step()
            self._one(job, printer, progress)
        progress.clear()
        for line in self._summary():
            printer.say(line)
        return 1 if self.refused or self.verdicts["not equal"] or not self.verdicts else 0

    def _one(self, job: _Job, printer: Printer, progress: _Progress) -> None:
        from converse_harness.errors import ConverseHarnessError, SecretFound
        from converse_harness.recordings.cassettes import CannotImport, NoCassette, OtherTool
        from converse_harness.recordings.import_cassettes import CannotImportAll, import_cassette

        try:
            self._check(job)
            imported = import_cassette(job.source, job.target, self.hosts, self.redaction)
        except NoCassette as error:
            if job.named:
                self._refuse(str(error), progress)
            elif isinstance(error, OtherTool):
                self.others[error.tool] += 1
            else:
                self.without += 1
        except (CannotImport, CannotImportAll) as error:
            self._refuse(str(error), progress)
        except SecretFound as error:
            advice = "Here that is --redact 'PATTERN => REPLACEMENT'."
            self._refuse(f"{job.source}: {error}\n{advice}", progress)
        except ConverseHarnessError as error:  # of the recording that it would become
            self._refuse(f"{job.source}: {error}", progress)
        except OSError as error:
            self._refuse(f"{error.filename or job.source}: {error.strerror or error}.", progress)
        else:
            self._count(job, imported)
            if imported.verdicts:
                progress.clear()
                printer.say(f"{job.source} -> {job.target}: {_line(imported)}")
            for line in imported.masked.splitlines():
                printer.say(line)

    def _check(self, job: _Job) -> None:
        """Refuse to overwrite an existing recording, or one that this run has just written."""
        from converse_harness.recordings.cassettes import CannotImport

        other = self.written.get(job.target)
        if other is not None:
            problem = f"it would become {job.target}, which {other} became just now."
            raise CannotImport(job.source, 1, problem, "Rename one of them, or import them into different folders.")
        if job.target.exists() and not self.force:
            raise CannotImport(job.source, 1, f"{job.target} is there already.", "--force overwrites it.")

    def _refuse(self, problem: str, progress: _Progress) -> None:
        from converse_harness.cli.terminal import RED, Printer

        progress.clear()
        self.refused += 1
        for line in problem.splitlines():
            Printer(self.err).say(f"converse-harness import: {line}", RED)

    def _count(self, job: _Job, imported: Imported) -> None:
        self.alone.update(imported.alone)
        self.verdicts.update(verdict for verdict in imported.verdicts)
        if imported.verdicts:
            self.written[job.target] = job.source
        else:
            self.without += 1

    def _summary(self) -> Iterator[str]:

        exchanges, made = _several(self.verdicts.total(), "exchange"), _several(len(self.written), "recording")
        details = _details(self.verdicts)
        yield f"{exchanges} in {made}{': ' if details else ''}{details}."
        if self.verdicts["re-serialised"]:
            yield "Re-serialised: the cassette holds parsed JSON and no bytes; spacing and order of keys are ours."
        for tool, count in self.others.most_common():
            yield f"{_several(count, 'file')} of {tool}; import reads vcrpy's."
        if self.without:
            yield f"Nothing of Bedrock in {_several(self.without, 'file')}."
        if self.alone:
            hosts = [f"{count} to {host}" for host, count in self.alone.most_common(_SHOWN_HOSTS)]
            more = len(self.alone) - len(hosts)
            listed = ", ".join([*hosts, *([f"{_several(more, 'more host')}"] if more else [])])
            yield f"{_several(self.alone.total(), 'interaction')} left alone: {listed}."
            if not self.verdicts:
                example = shlex.quote(self.alone.most_common(1)[0][0])
                yield f"If one of these hosts passes on to Bedrock, name it as it stands here: --host {example}"
        if self.refused:
            yield f"{_several(self.refused, 'file')} could not be imported."


def _line(imported: Imported) -> str:
    counted = Counter[str](imported.verdicts)
    alone = sum(imported.alone.values())
    return f"{_several(len(imported.verdicts), 'exchange')}, {_details(counted)}" + (
        f"; {alone} left alone" if alone else ""
    )


def _details(counted: Counter[str]) -> str:
    from converse_harness.recordings.import_cassettes import ImportVerdict

    return ", ".join(f"{counted[each]} {each}" for each in get_args(ImportVerdict) if counted[each])


def _several(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


@dataclass(slots=True)
class _Progress:
    """The progress of a slow import, on a terminal only."""

    out: TextIO
    total: int
    done: int = 0
    shown: bool = False
    started: float = field(default_factory=time.monotonic)

    def step(self) -> None:
        """Show that the next cassette begins."""
        self.done += 1
        if self.out.isatty() and time.monotonic() - self.started > _PATIENCE:
            print(f"\r{self.done} of {self.total} cassettes", end="", file=self.out, flush=True)
            self.shown = True

    def clear(self) -> None:
        """Erase the progress line before another line is printed."""
        if self.shown:
            print("\r\033[K", end="", file=self.out, flush=True)
            self.shown = False
