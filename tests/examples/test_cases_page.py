"""The tables of docs/cases.md are those of the code; run as a script, this file writes them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from converse_harness import Reply, bedrock, fake_converse, reply
from converse_harness.bedrock.citations import COUNTING, locations
from converse_harness.bedrock.families import CLIENTS, ERRORS, OVERFLOWS, THROTTLES, Wording
from converse_harness.bedrock.guardrails import POLICIES, actions
from converse_harness.cases.catalogue import FAMILIES
from converse_harness.faults import FAULTS
from converse_harness.faults.model import EVERY_TRANSPORT, FAULT_LEVELS, TRANSPORTS
from converse_harness.reply import failures
from converse_harness.reply.body import ErrorBody
from converse_harness.stream.http import GATEWAY_ERROR, GATEWAY_ERRORS, SERVICE_ERROR
from tests.examples.tables import DOCS, TABLE, Row, Tables, code, markdown, with_tables

PAGE: Final = DOCS / "cases.md"
_MADE_WITH: Final = re.compile(r"(?<=made with botocore )[\d.]+\d")


def errors() -> Iterator[Row]:
    """Every error before the stream, with the requests that it costs."""
    yield "error", "helpers", "status", "sent by", "requests", "its text is"
    by_name = helpers()
    for name, shape in sorted(bedrock.all_errors().items()):
        yield (
            code(name),
            ", ".join(map(code, by_name.get(name, ()))),
            str(shape.status),
            "gateway" if name in GATEWAY_ERRORS else "service",
            ", ".join(str(refused(reply.error(name, status=None), mode)[1]) for mode in ("legacy", "standard")),
            known(ERRORS[name]) if name in ERRORS else "its name",
        )


def helpers() -> Mapping[str, list[str]]:
    """The functions of `reply` that make an error, by the error."""
    found: dict[str, list[str]] = {}
    for name, function in inspect.getmembers(failures, inspect.isfunction):
        if name in reply.__all__ and name != "error":
            required = [each for each in inspect.signature(function).parameters.values() if each.default is each.empty]
            body = function(*("x" for _ in required)).plan.body
            if isinstance(body, ErrorBody):  # the others break the connection
                found.setdefault(body.name, []).append(name)
    return found


def refused(failure: Reply, mode: str = "standard") -> tuple[Mapping[str, Any], int]:
    """What a botocore client of that retry mode gets for a failure on plain Converse, and how often it asks."""
    with fake_converse() as fake:
        fake.always(failure)
        client: Any = boto3.client("bedrock-runtime", region_name="us-east-1", config=Config(retries={"mode": mode}))
        with pytest.raises(ClientError) as raised:
            client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "?"}]}])
    return raised.value.response, len(fake.calls)


def known(wording: Wording) -> str:
    """Where a text is known from."""
    return f"{wording.source}, {wording.where}" if wording.where else wording.source


def throttles() -> Iterator[Row]:
    """The wordings of throttling."""
    yield "wording", "text", "source"
    for name, wording in THROTTLES.items():
        yield code(name), wording.message, known(wording)


def frames() -> Iterator[Row]:
    """The exceptions inside a stream."""
    yield "frame", "members beside message", "on plain Converse"
    for name, shape in bedrock.stream_exceptions().items():
        response, _ = refused(reply.text("hi").fails_after(0, name, strict=True))
        others = ", ".join(code(member) for member in shape.members if member != "message")
        yield code(name), others, f"{response['ResponseMetadata']['HTTPStatusCode']} {response['Error']['Code']}"


def overflows() -> Iterator[Row]:
    """The wordings of a context overflow, and who recognises them."""
    yield ("wording", "text", *CLIENTS, "source")
    for name, wording in OVERFLOWS.items():
        recognised = ("yes" if client in wording.recognised_by else "no" for client in CLIENTS)
        yield (code(name), wording.message, *recognised, known(wording))


def policies() -> Iterator[Row]:
    """The policies of guardrails."""
    yield "policy", "finding", "checks", "actions"
    for name, policy in POLICIES.items():
        sides, done = ", ".join(policy.sides), ", ".join(actions(policy)) or "NONE"
        yield code(name), code(f"{policy.member}.{policy.findings}"), sides, done


def citations() -> Iterator[Row]:
    """The members of CitationLocation."""
    yield "location", "range", "the first is", "index"
    for kind in locations():
        if kind in COUNTING:
            counting = COUNTING[kind]
            yield code(kind), code(f"{counting.units}="), str(counting.first), code(counting.index)
        else:
            yield code(kind), "its URL", "", ""


def faults() -> Iterator[Row]:
    """The faults, level by level."""
    yield "fault", "level", "what happens", "a body too", "transports", "botocore"
    for level in FAULT_LEVELS:
        for fault in FAULTS.values():
            if fault.level == level:
                transports = (
                    "all"
                    if fault.transports == EVERY_TRANSPORT
                    else ", ".join(d for d in TRANSPORTS if d in fault.transports)
                )
                body = "no" if fault.on_body is None else "yes"
                yield code(fault.name), level, fault.sentence, body, transports, fault.botocore


def cases() -> Iterator[Row]:
    """The catalogue, family by family."""
    yield "case", "what happens", "a correct consumer", "known from"
    for family, make in FAMILIES.items():
        yield f"**{family}**", "", "", ""
        for case in make():
            if case.available:
                yield code(case.name), case.sentence, case.required, case.source


TABLES: Final[Tables] = {
    "errors": errors,
    "throttles": throttles,
    "frames": frames,
    "overflows": overflows,
    "policies": policies,
    "citations": citations,
    "faults": faults,
    "cases": cases,
}


def up_to_date(page: str) -> str:
    """The page with every table as it should be."""
    return _MADE_WITH.sub(bedrock.botocore_version(), with_tables(page, TABLES))


def shown(name: str, page: str) -> str:
    """A table of the page."""
    (found,) = (each for each in TABLE.finditer(page) if each[1] == name)
    return found[0].removeprefix(found[1] + found[2]).strip("\n") + "\n"


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_the_page_is_that_of_the_code(name: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (made_with,) = _MADE_WITH.findall(page)
    rows, expected = shown(name, page).splitlines(), markdown(TABLES[name]()).splitlines()
    # A botocore that is newer than the page may know more stop reasons, errors and locations.
    if made_with != bedrock.botocore_version():
        expected = [row for row in expected if row in rows]
    assert rows == expected, "docs/cases.md is behind; write it with: python -m tests.examples.test_cases_page"


def test_the_suffixes_are_those_that_are_sent() -> None:
    suffixes = f"- the service sends `{SERVICE_ERROR}`;\n- the gateway sends `{GATEWAY_ERROR}`.\n"
    assert suffixes in PAGE.read_text(encoding="utf-8")


def test_a_change_would_be_seen() -> None:
    page = PAGE.read_text(encoding="utf-8")
    spoilt = page.replace("`reset`", "`rested`")
    assert shown("faults", spoilt) != shown("faults", page)
    assert up_to_date(spoilt) == up_to_date(page)


if __name__ == "__main__":
    PAGE.write_text(up_to_date(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
