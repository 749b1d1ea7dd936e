"""`converse-harness import`: convert vcrpy cassettes and saved answers, files or whole folders, to recordings."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, get_args

from converse_harness.cli.terminal import (
    KEEP_FILES,
    REDACT,
    REDACT_ADVICE,
    Arguments,
    UsageFailed,
    complain,
    redaction_of,
    say,
    with_progress,
)
from converse_harness.errors import ConverseHarnessError, SecretFound
from converse_harness.features.cassettes.convert import CannotImportAll, Hosts, ImportVerdict, import_cassette
from converse_harness.features.cassettes.other_tools import OTHER_KINDS
from converse_harness.features.cassettes.read import CannotImport, NoCassette, OtherTool
from converse_harness.intercept.guard.hosts import is_bedrock_host
from converse_harness.recordings.redaction import Redaction
from converse_harness.shell import quoted
from converse_harness.words import counted

_CASSETTES: Final = re.compile(r"(?:\.(?:yaml|yml|json)|(?<=\.chunks)\.txt)(?:\.gz)?$", re.IGNORECASE)
"""Matches the end of a cassette's file name. In the name of the recording, `.jsonl` replaces it.

A file in a folder is imported only if its name has such an end. `.chunks.txt` is the end of the AI SDK's files.
"""

_SHOWN_HOSTS: Final = 5
"""The maximum number of ignored hosts that the summary lists."""


def _host(text: str) -> str:
    name = text.rpartition("//")[2].rstrip("/").lower()
    if not name or set(name) & set("/?#@"):
        raise argparse.ArgumentTypeError(f"{text!r} is no host; it is NAME or NAME:PORT, as the report tells it")
    return name


DESCRIPTION: Final = (
    "Make recordings of vcrpy's cassettes: YAML or JSON, plain or gzip, as pytest-recording and others write them; and "
    "of answers without a request: what `aws bedrock-runtime converse` prints, what boto3 returned, as JSON, or the "
    "events of a stream, in a list or one on each line. Any request gets such an answer. "
    "Interactions with Bedrock become exchanges, in their order; others are left alone and counted. What is written is "
    "read again, and each answer that it replays compared with the cassette's. A cassette has no times: a recording of "
    "one is without pauses, each event in a chunk of its own. What was compressed on its way is decoded. Tags in YAML "
    "are never executed."
)
ARGUMENTS: Final[Arguments] = {
    "paths": {"metavar": "CASSETTE", "nargs": "+", "type": Path, "help": "a cassette, or a folder of them"},
    "-o --output": {
        "metavar": "FILE",
        "type": Path,
        "help": "the recording to write, if it ends in .jsonl; else the folder to write to, where a folder of "
        "cassettes is mirrored (default: beside each cassette)",
    },
    "--host": {
        "metavar": "HOST",
        "action": "append",
        "default": [],
        "type": _host,
        "help": "a host that passes on to Bedrock: a proxy, a VPC endpoint with a name of its own, a server of a test "
        "(NAME or NAME:PORT, can be given again); also what a filter put in its place, such as '<HOST>'",
    },
    "--model": {
        "metavar": "ID",
        "default": "",
        "help": "the model of answers without a request; only calls of this model get them (default: calls of any)",
    },
    **REDACT,
    **KEEP_FILES,
    "--force": {"action": "store_true", "help": "overwrite recordings that are there already"},
}


def run(given: argparse.Namespace) -> int:
    """Import the cassettes; return the exit code.

    The code is 1 if nothing was imported, if an import failed or if a body is not JSON; otherwise it is 0.
    """
    redaction = redaction_of("import", given.redact)
    jobs = list(_jobs(given.paths, given.output))
    work = _Import(Hosts(is_bedrock_host, frozenset(given.host)), redaction, given.force, given.model, given.keep_files)
    for lines, problem in with_progress(work.one, jobs, "cassettes"):
        for line in problem.splitlines():
            complain("import", line)
        for line in lines:
            say(line)
    for line in work.no_json:
        complain("import", line)
    for line in work.summary():
        say(line)
    return 1 if work.refused or work.verdicts["not equal"] or work.no_json or not work.verdicts else 0


class _Job(NamedTuple):
    """A cassette to import (`source`), and the path of the recording to write (`target`).

    `named` is true if the cassette is an argument of the command, false if it was found in a folder.
    """

    source: Path
    target: Path
    named: bool


def _jobs(paths: Sequence[Path], output: Path | None) -> Iterator[_Job]:
    one_file = output is not None and output.suffix == ".jsonl"
    if one_file and (len(paths) > 1 or paths[0].is_dir()):
        raise UsageFailed(f"import: {output} is one recording; for several cassettes -o is a folder")
    for path in paths:
        found = [path]
        if path.is_dir():
            found = sorted(each for each in path.rglob("*") if _CASSETTES.search(each.name) and each.is_file())
            if not found:
                raise UsageFailed(
                    f"import: in {path} is no file that ends in .yaml, .yml, .json or .chunks.txt, with or without .gz"
                )
        elif not path.exists():
            raise UsageFailed(f"import: there is no {path}")
        elif _is_recording(path):
            raise UsageFailed(f"import: {path} is a recording already; converse-harness show {path} prints it")
        for each in found:
            below = Path() if each is path else each.parent.relative_to(path)
            folder = each.parent if output is None else output / below
            target = output if one_file and output else folder / f"{_CASSETTES.sub('', each.name)}.jsonl"
            yield _Job(each, target, named=each is path)


def _is_recording(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:
        return file.readline(1000).startswith(b'{"format": "converse-recording"')
    return False


@dataclass(slots=True)
class _Import:
    """One run of the command: its options and its counters.

    `written` maps each written recording to its cassette. `verdicts` counts the imported exchanges by ImportVerdict,
    `alone` the ignored interactions by host, and `others` the files of other tools by tool. `without` is the number of
    files without calls to Bedrock, `refused` is the number of failed imports, and `without_request` that of answers
    whose request is not known. `no_json` contains a text for each body that is not JSON.
    """

    hosts: Hosts
    redaction: Redaction
    force: bool
    model_id: str = ""
    keep_files: bool = False
    written: dict[Path, Path] = field(default_factory=dict[Path, Path])
    verdicts: Counter[ImportVerdict] = field(default_factory=Counter[ImportVerdict])
    alone: Counter[str] = field(default_factory=Counter[str])
    others: Counter[str] = field(default_factory=Counter[str])
    without: int = 0
    refused: int = 0
    without_request: int = 0
    no_json: list[str] = field(default_factory=list[str])

    def one(self, job: _Job) -> tuple[Sequence[str], str]:
        """Import a cassette. Return the lines to print, and the reason if the import failed, otherwise ""."""
        try:
            return self._imported(job), ""
        except OSError as error:
            problem = f"{error.filename or job.source}: {error.strerror or error}."
        except ConverseHarnessError as error:
            is_named = isinstance(error, CannotImport | CannotImportAll)  # these messages contain the path already
            problem = f"{'' if is_named else f'{job.source}: '}{error}"
            if isinstance(error, SecretFound):
                problem += f"\n{REDACT_ADVICE}"
        self.refused += 1
        return (), problem

    def _imported(self, job: _Job) -> list[str]:
        if other := self.written.get(job.target):
            problem = f"it would become {job.target}, which {other} became just now."
            raise CannotImport(job.source, 1, problem, "Rename one of them, or import them into different folders.")
        if job.target.exists() and not self.force:
            raise CannotImport(job.source, 1, f"{job.target} is there already.", "--force overwrites it.")
        try:
            imported = import_cassette(
                job.source, job.target, self.hosts, self.redaction, self.model_id, keep_files=self.keep_files
            )
        except NoCassette as error:
            if job.named:
                raise
            if isinstance(error, OtherTool):
                self.others[error.tool] += 1
            else:
                self.without += 1
            return []
        self.no_json += imported.no_json
        self.without_request += imported.without_request
        self.alone.update(imported.alone)
        self.verdicts.update(imported.verdicts)
        if not imported.verdicts:
            self.without += 1
            return imported.said.splitlines()
        self.written[job.target] = job.source
        verdicts = f"{counted(len(imported.verdicts), 'exchange')}, {_details(Counter(imported.verdicts))}"
        alone = f"; {sum(imported.alone.values())} left alone" if imported.alone else ""
        return [f"{job.source} -> {job.target}: {verdicts}{alone}", *imported.said.splitlines()]

    def summary(self) -> Iterator[str]:
        """Yield the lines about the whole run that are printed at its end."""
        exchanges, made = counted(self.verdicts.total(), "exchange"), counted(len(self.written), "recording")
        yield f"{exchanges} in {made}{': ' * bool(self.verdicts)}{_details(self.verdicts)}."
        if self.verdicts["re-serialised"]:
            yield "Re-serialised: the file holds parsed JSON and no bytes; spacing and order of keys are ours."
        if self.without_request:
            of = f"of {self.model_id}" if self.model_id else "of any model; --model ID names one"
            yield f"{counted(self.without_request, 'answer')} without a request: each answers the next call {of}."
        for tool, count in self.others.most_common():
            yield f"{counted(count, 'file')} of {tool}: not read. {OTHER_KINDS[tool].advice}"
        if self.without:
            yield f"Nothing of Bedrock in {counted(self.without, 'file')}."
        if self.alone:
            hosts = [f"{count} to {host}" for host, count in self.alone.most_common(_SHOWN_HOSTS)]
            if more := len(self.alone) - len(hosts):
                hosts.append(counted(more, "more host"))
            yield f"{counted(self.alone.total(), 'interaction')} left alone: {', '.join(hosts)}."
            if not self.verdicts:
                example = quoted(self.alone.most_common(1)[0][0])
                yield f"If one of these hosts passes on to Bedrock, name it as it stands here: --host {example}"
        if self.refused:
            yield f"{counted(self.refused, 'file')} could not be imported."
        if self.no_json:
            bodies = counted(len(self.no_json), "body is", "bodies are")
            yield f"{bodies} not what Bedrock sends or takes: no JSON. Each is named above, with what to do."


def _details(verdicts: Counter[ImportVerdict]) -> str:
    return ", ".join(f"{verdicts[each]} {each}" for each in get_args(ImportVerdict) if verdicts[each])
