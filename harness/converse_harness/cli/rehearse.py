"""`converse-harness rehearse`: report which requests in recordings another model would refuse."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

from converse_harness import bedrock
from converse_harness.bedrock.rules import RuleRequest
from converse_harness.cli.terminal import (
    BOLD,
    GREEN,
    PATHS,
    RED,
    Arguments,
    CommandFailed,
    UsageFailed,
    plain,
    recordings_in,
    say,
    session_in,
)
from converse_harness.endpoint.call import SCRIPTED
from converse_harness.endpoint.rehearsal import own_rules, targets_of, unknown_target
from converse_harness.endpoint.rehearsal_report import Asked, RefusedCall, RehearsalReport
from converse_harness.errors import DamagedData, ReplyError
from converse_harness.recordings.replies import RecordedExchange

DESCRIPTION: Final = (
    "Report which recorded requests Bedrock would refuse if they went to MODEL, by the rules that the fake has: the "
    "recording, the call, the rule, Bedrock's words. Recordings are only read. The exit code is 0 if nothing would be "
    "refused, 1 if something would be, 2 for wrong usage, for a recording that cannot be read, and for a model that is "
    "not known."
)
ARGUMENTS: Final[Arguments] = {
    **PATHS,
    "--as": {
        "dest": "targets",
        "metavar": "[PATTERN=]MODEL",
        "action": "append",
        "required": True,
        "help": "the model; it replaces the model ids that match the glob PATTERN, or the id that is asked most often; "
        "MODEL `all` is the newest model of each line (can be given again)",
    },
}

_ACCEPTED: Final = 0
_REFUSED: Final = 1
_TROUBLE: Final = 2
"""The exit codes: no request would be refused; at least one would be refused; a recording cannot be rehearsed."""

_BAD_REQUEST: Final = 400
"""The HTTP status of a request that Bedrock refused."""


def run(given: argparse.Namespace) -> int:
    """Rehearse all named recordings; return the exit code."""
    try:
        targets = targets_of(given.targets)
    except ReplyError as error:
        raise UsageFailed(f"rehearse --as {error}") from error
    for target in targets:
        if not target.known:
            raise CommandFailed(f"--as {unknown_target(target)}", _TROUBLE)
    report = RehearsalReport(targets, "recording", "exchange")
    for path in recordings_in(given.paths):
        _rehearse(path, report)
    for text, accepted in report.lines(full=True):
        say(plain(text), "" if accepted is None else f"{BOLD};{GREEN if accepted else RED}")
    return _REFUSED if report.refuses else _ACCEPTED


def _rehearse(path: Path, report: RehearsalReport) -> None:
    """Add the requests of a recording to the report; a repeated attempt of the same request is left out."""
    asked: dict[str, Asked] = {}
    seen: set[str] = set()
    for exchange in session_in(path, _TROUBLE).exchanges:
        if exchange.operation not in SCRIPTED:
            continue
        name = f"{path} call {exchange.call['call']}"
        if exchange.head.get("status") == _BAD_REQUEST:
            report.left_out[name] = "refused"
            continue
        request = json.dumps([exchange.operation, exchange.model_id, exchange.request], sort_keys=True)
        if request in seen:
            continue
        seen.add(request)
        try:
            request_of = _request_of(exchange)
            refused = _refused(path, exchange, request_of, report)
        except (bedrock.NotInModel, DamagedData):
            report.left_out[name] = "stale"
            continue
        matching = [index for index, target in enumerate(report.targets) if target.replaces(exchange.model_id)]
        of_id = asked.setdefault(exchange.model_id, Asked(targets=matching))
        of_id.requests += 1
        of_id.refused += refused
        of_id.unjudged.update(
            (index, name) for index in matching for name in report.targets[index].unjudged_fields(request_of)
        )
    report.add(str(path), asked)


def _request_of(exchange: RecordedExchange) -> RuleRequest:
    """Return the request as the rules see it. Raises DamagedData for a request that cannot be read."""
    operation = exchange.operation
    body = bedrock.read_json(bedrock.operation(operation).input_shape.name, exchange.request, recorded=True)
    return RuleRequest(operation, exchange.model_id, body)


def _refused(path: Path, exchange: RecordedExchange, asked: RuleRequest, report: RehearsalReport) -> list[RefusedCall]:
    """Return the refusals of the targets for a request that Bedrock accepted."""
    # Media may be shortened in a recording. Where Bedrock accepted a value, its acceptance outweighs a rule.
    but = own_rules(asked)
    line = f"{path.name}:{exchange.at}"
    return [
        RefusedCall(index, exchange.call["call"], exchange.operation, refusal.rule.name, refusal.message, line)
        for index, target in enumerate(report.targets)
        if target.replaces(exchange.model_id)
        for refusal in target.refusals(asked, but=but)
    ]
