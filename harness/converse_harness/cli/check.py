"""`converse-harness check`: look in recordings for damage, secrets, and data that AWS would not send or accept."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from converse_harness import bedrock
from converse_harness.bedrock import FindingKind
from converse_harness.cli.terminal import BOLD, DIM, PATHS, RED, Arguments, plain, recordings_in, say, styled
from converse_harness.endpoint.call import CONVERSATIONS
from converse_harness.errors import DamagedData
from converse_harness.json_values import member_of, objects_of, repeated
from converse_harness.recordings import leaks
from converse_harness.recordings.format import media
from converse_harness.recordings.format.check import illegal, problems_of, violations
from converse_harness.recordings.format.exchanges import RecordedExchange, RecordedSession
from converse_harness.recordings.format.lines import Line, said
from converse_harness.recordings.format.read import DamagedRecording, Rows, session_of, text_of_file
from converse_harness.recordings.names import why_not_played
from converse_harness.recordings.play.matching import asked_in
from converse_harness.secrets.mask import mask
from converse_harness.secrets.process import own_secrets
from converse_harness.secrets.removal import without_secrets
from converse_harness.words import counted, plural

DESCRIPTION: Final = (
    "Check recordings: their format, whether AWS could have sent what they say, secrets, files of media, and whether "
    "the installed botocore's model still knows what was asked and answered. One line for each finding, as FILE:LINE: "
    "SORT: TEXT. The exit code is 0 where nothing was found, 1 where something was, 2 for wrong usage. Faults that a "
    "call names are listed, and are no finding."
)
ARGUMENTS: Final[Arguments] = {
    **PATHS,
    "--json": {"action": "store_true", "help": "print a JSON list with an object for each finding"},
}

Sort = Literal["format", "illegal", "stale", "secret", "media", "fault"]
"""The kind of a finding; `MEANINGS` describes each kind."""

MEANINGS: Final[Mapping[Sort, str]] = {
    "format": "the file is no recording, or not what it seems to be",
    "illegal": "AWS would not have sent it, and the call names no fault",
    "stale": "the installed botocore's model does not know it, or asks for more",
    "secret": "it holds something that looks like a secret",
    "media": "a file beside it is missing, changed or not used",
    "fault": "what AWS would not have sent, and the recording names; no reason to fail",
}


_NAMED: Final = (
    "*** in its path stands for {kinds}. Rename it, and make the secret invalid if the file was ever committed. A test "
    "whose parameter is a secret finds its recording under a name without it."
)


class CheckFinding(NamedTuple):
    """One finding about a recording; `line` counts from 1, and is None if the finding is about the whole file."""

    path: Path
    line: int | None
    sort: Sort
    text: str


class Checked(NamedTuple):
    """The result of `check_file`: the findings, and the number of exchanges, which is 0 for a damaged recording."""

    findings: Sequence[CheckFinding]
    exchanges: int = 0


def run(given: argparse.Namespace) -> int:
    """Check all named files and folders. Return the exit code: 0 if nothing but named faults was found, otherwise 1."""
    files = [*recordings_in(given.paths)]
    checked = [check_file(file) for file in files]
    findings = [finding for each in checked for finding in each.findings]
    findings += [finding for path in given.paths if path.is_dir() for finding in _left_over(path)]
    if given.json:
        described = [{**each._asdict(), "path": mask(str(each.path)), "text": mask(each.text)} for each in findings]
        say(json.dumps(described, indent=2))
    else:
        for file in files:
            if why := why_not_played(file):
                say(f"{mask(str(file))}: {why}; no test plays it.", DIM)
        _print(findings, checked)
    return int(any(finding.sort != "fault" for finding in findings))


def _print(findings: Sequence[CheckFinding], checked: Sequence[Checked]) -> None:
    for finding in findings:
        path = mask(str(finding.path))
        where = path if finding.line is None else f"{path}:{finding.line}"
        sort = styled(finding.sort, DIM if finding.sort == "fault" else RED)
        say(f"{styled(where, BOLD)}: {sort}: {plain(finding.text)}")
    counts = Counter(finding.sort for finding in findings)
    faults = counts.pop("fault", 0)
    sorts = ", ".join(f"{counts[sort]} {sort}" for sort in MEANINGS if sort in counts)
    summary = f"{counted(len(checked), 'recording')}, {counted(sum(each.exchanges for each in checked), 'exchange')}: "
    summary += f"{counted(counts.total(), 'finding')} ({sorts})" if sorts else "nothing found"
    if faults:
        summary += f"; {counted(faults, 'fault')} that {plural(faults, 'its recording names', 'recordings name')}"
    say(summary, BOLD)


def check_file(path: Path) -> Checked:
    """Check one recording and its path, and return the findings and the number of exchanges."""
    kinds = without_secrets(str(path), own_secrets()).kinds
    checked = _check_lines(path)
    if not kinds:
        return checked
    named = CheckFinding(path, None, "secret", _NAMED.format(kinds=", ".join(kinds)))
    return checked._replace(findings=[named, *checked.findings])


def _check_lines(path: Path) -> Checked:
    try:
        rows = Rows(text_of_file(path), path)
        lines = [*map(rows.as_written, rows.numbers)]
    except DamagedRecording as error:
        return Checked([CheckFinding(path, error.line, "format", error.problem)])
    except OSError as error:
        return Checked([CheckFinding(path, None, "format", f"cannot be read: {error.strerror or error}.")])
    found = [CheckFinding(path, leak.line, "secret", str(leak)) for leak in leaks.scan(lines)]
    found += (CheckFinding(path, None, "media", f"{name} is used by no line.") for name in _unused(path, lines))
    whole: list[Line] = []
    damage: list[CheckFinding] = []
    for number, line in enumerate(lines, 1):
        try:
            whole.append(media.put_back(line, path.parent))
        except media.DamagedMedia as error:
            damage.append(CheckFinding(path, number, "media", str(error)))
            whole.append(line)
    damage += (CheckFinding(path, problem.line, "format", problem.text) for problem in problems_of(whole))
    found += damage
    found += (CheckFinding(path, number, "format", text) for number, text in _oddities(rows, lines))
    session = None if damage else session_of(whole)
    if session is not None:
        found += _of_the_model(path, session)
    found = sorted(dict.fromkeys(found), key=lambda each: (each.line is None, each.line or 0))
    return Checked(found, 0 if session is None else len(session.exchanges))


def _left_over(folder: Path) -> Iterator[CheckFinding]:
    """Yield a finding for each folder with media of a recording that does not exist, in `folder` and its subfolders."""
    for path in sorted(folder.rglob(f"*{media.FOLDER_SUFFIX}")):
        recording = path.with_suffix(".jsonl")
        if path.is_dir() and not recording.exists():
            yield CheckFinding(path, None, "media", f"these are the media of {recording.name}, which is not there.")


def _unused(path: Path, lines: Sequence[Line]) -> Iterator[str]:
    folder = path.parent / media.folder_of(path)
    used = {path.parent / name for line in lines for name in media.references(line)}
    if folder.is_dir():
        yield from (f"{folder.name}/{each.name}" for each in sorted(folder.iterdir()) if each not in used)


def _oddities(rows: Rows, lines: Sequence[Line]) -> Iterator[tuple[int, str]]:
    """Yield a line number and a text for each mistake that the function `read` accepts.

    These mistakes are duplicate keys, and times that decrease.
    """
    twice: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice.extend(repeated(pairs))
        return dict(pairs)

    for number, row in enumerate(rows.texts, 1):
        twice.clear()
        json.loads(row, object_pairs_hook=note)
        yield from ((number, f"the key {said(name)} is there twice; only the last one counts.") for name in twice)
    for number, (before, at) in enumerate(pairwise(line.get("t") for line in lines), 2):
        if isinstance(at, int) and isinstance(before, int) and at < before:
            yield number, f'"t" is {at}, and {before} in the line before; it is replayed without a pause.'


def _of_the_model(path: Path, session: RecordedSession) -> Iterator[CheckFinding]:
    """Yield findings about a readable recording: the faults that it names, and what contradicts AWS's API model.

    "illegal" is what AWS would not send. "stale" is what the model in the installed botocore does not accept.
    """
    for exchange in session.exchanges:
        broken = [(problem.line, problem.text) for problem in violations(exchange, session.header)]
        unknown = [] if exchange.faults else [(exchange.at + offset, text) for offset, text in illegal(exchange)]
        yield from (CheckFinding(path, exchange.at, "fault", fault) for fault in exchange.faults)
        yield from (CheckFinding(path, line, "illegal", text) for line, text in broken)
        yield from (CheckFinding(path, line, "stale", text) for line, text in unknown if (line, text) not in broken)
        yield from (CheckFinding(path, exchange.at, "illegal", text) for text in _ids_without_use(exchange))
        yield from (CheckFinding(path, exchange.at, "stale", f"the request: {why}") for why in _stale_request(exchange))


def _ids_without_use(exchange: RecordedExchange) -> Iterator[str]:
    """Yield a text for each toolResult whose toolUseId does not belong to an earlier toolUse of the same request.

    Requests that the service refused are not checked.
    """
    if exchange.faults or exchange.operation not in CONVERSATIONS or exchange.head.get("status", 500) >= 400:
        return
    known = set[object]()
    for index, message in enumerate(objects_of(asked_in(exchange).conversation.get("messages"))):
        for block, content in enumerate(objects_of(message.get("content"))):
            known.add(member_of(content, "toolUse", "toolUseId"))
            used = member_of(content, "toolResult", "toolUseId")
            if used not in known:
                yield (
                    f"messages[{index}].content[{block}].toolResult.toolUseId of the request is {said(used)}; no "
                    "toolUse before it has that id. An id is the same in an answer and in the requests after it."
                )


def _stale_request(exchange: RecordedExchange) -> Iterator[str]:
    """Yield a text for each part of a request that the installed botocore's model does not allow.

    Only requests that the service accepted are checked.
    """
    if "operation" not in exchange.call or exchange.head.get("status", 500) >= 400 or not exchange.request:
        return
    try:
        service = exchange.service
        if service == bedrock.CONTROL_PLANE:
            return  # such requests are not checked
        shape = bedrock.operation(exchange.operation, service).input_shape
        if "payload" in shape.serialization:
            return
        parsed = bedrock.read_json(shape.name, exchange.request, recorded=True, of=service)
        request = bedrock.from_json(shape.name, parsed, service)
    except (bedrock.NotInModel, DamagedData) as error:
        yield str(error)
        return
    elsewhere = {member for member, each in shape.members.items() if "location" in each.serialization}
    for violation in bedrock.validate(shape.name, request, of=service):
        in_path = violation.kind is FindingKind.REQUIRED and not violation.steps and violation.limit in elsewhere
        # A recording may contain shortened media, which are not valid base64. This is not reported.
        is_media = violation.kind is FindingKind.TYPE and "bytes" in violation.steps
        if violation.kind in _STALE and not in_path and not is_media:
            yield violation.message


_STALE: Final = frozenset(
    {FindingKind.UNION, FindingKind.REQUIRED, FindingKind.UNKNOWN, FindingKind.TYPE, FindingKind.ENUM}
)
