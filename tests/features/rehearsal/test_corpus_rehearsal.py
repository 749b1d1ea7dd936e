"""What AWS accepted of a model is accepted where it is rehearsed as this model."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

from converse_harness import bedrock
from converse_harness.bedrock.rules import RuleRequest
from converse_harness.features.rehearsal.targets import target_of
from tests.oracle.conftest import rows_of_aws


def test_no_accepted_request_is_refused_of_its_own_model(shared: Path) -> None:
    corpus, count, unknown, refused = shared / "corpus", 0, 0, list[tuple[str, str]]()
    for entry in rows_of_aws(shared):
        known = json.loads((corpus / entry["file"]).read_text())
        body = known["request"]["body"]
        if entry["status"] == 200 and isinstance(body, dict) and "_prompt_key" not in body:
            operation = known["operation"]
            body = bedrock.read_json(bedrock.operation(operation).input_shape.name, body, recorded=True)
            asked = RuleRequest(operation, unquote(known["request"]["path"].split("/")[2]), body)
            target = target_of(asked.model_id)
            unknown += not target.known
            refused += [(entry["file"], each.rule.name) for each in target.refusals(asked)]
            count += 1
    assert (count, unknown, refused) == (349, 2, [])  # the two are of profiles, whose ARNs do not name their models
