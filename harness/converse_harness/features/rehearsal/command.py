"""`converse-harness rehearse`: report which requests in recordings another model would refuse."""

from __future__ import annotations

import argparse
import json
from http import HTTPStatus
from pathlib import Path
from typing import Final

from converse_harness import bedrock
from converse_harness.bedrock.rules import RuleRequest
from converse_harness.bedrock.rules.request import conversation_in
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
from converse_harness.endpoint.call import CONVERSATIONS
from converse_harness.errors import DamagedData, ReplyError
from converse_harness.features.rehearsal.report import Asked, RefusedCall, RehearsalReport
from converse_harness.features.rehearsal.targets import own_rules, targets_of, unknown_target
from converse_harness.recordings.format.exchanges import RecordedExchange

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

_TROUBLE: Final = 2
"""The exit code if a recording cannot be read, or if a model is unknown."""


def run(given: argparse.Namespace) -> int:
    """Rehearse all named recordings; return the exit code: 1 if a request would be refused, otherwise 0."""
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
    return int(report.refuses)


def _rehearse(path: Path, report: RehearsalReport) -> None:
    """Add the requests of a recording to the report. Equal requests to one model are added only once."""
    asked: dict[str, Asked] = {}
    seen: set[str] = set()
    known = (each for each in session_in(path, _TROUBLE).exchanges if not each.any_request)
    exchanges = [each for each in known if each.operation in CONVERSATIONS]
    answered = {_key(each) for each in exchanges if each.head.get("status") == HTTPStatus.OK}
    for exchange in exchanges:
        name = f"{path} call {exchange.call['call']}"
        if exchange.head.get("status") == HTTPStatus.BAD_REQUEST:
            report.left_out[name] = "refused"
            continue
        key = _key(exchange)
        if key in seen:
            continue
        seen.add(key)
        try:
            shape = bedrock.operation(exchange.operation).input_shape.name
            body = bedrock.read_json(shape, exchange.request, recorded=True)
            request = RuleRequest(exchange.operation, exchange.model_id, conversation_in(exchange.operation, body))
            # If Bedrock answered this request with its own model, rules that refuse it even so are ignored: they are
            # wrong, or the recording contains shortened media. An error, such as throttling, does not show this.
            accepted = own_rules(request)
            if accepted and key not in answered:
                report.left_out[name] = "refused"
                continue
            targets = [each for each in enumerate(report.targets) if each[1].replaces(exchange.model_id)]
            refused = [(index, each) for index, target in targets for each in target.refusals(request, but=accepted)]
        except (bedrock.NotInModel, DamagedData):
            report.left_out[name] = "stale"
            continue
        of_id = asked.setdefault(exchange.model_id, Asked(targets=[index for index, _ in targets]))
        of_id.requests += 1
        call = exchange.call["call"], exchange.operation
        line = f"{path.name}:{exchange.at}"
        of_id.refused += (RefusedCall(index, *call, each.rule.name, each.message, line) for index, each in refused)
        of_id.unjudged.update((index, name) for index, target in targets for name in target.unjudged_fields(request))
    report.add(str(path), asked)


def _key(exchange: RecordedExchange) -> str:
    """Return a text that is the same for equal requests to one model."""
    return json.dumps([exchange.operation, exchange.model_id, exchange.request], sort_keys=True)
