"""Draw inputs for tool schemas of released packages, and check them by jsonschema: `nox -s tool_schemas`.

Prints what is refused, what is not valid, and the slowest schemas; the exit code is 1 if fewer than 300 schemas are
found, if fewer than 99.5 % of the inputs are valid, or if one schema takes more than 25 ms an example.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any, Final

import jsonschema
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import InvalidArgument

from converse_strategies import tool_inputs
from tests.tool_schemas.found import Schema, of_models, of_operations, of_servers

EXAMPLES: Final = 30
LEAST_SCHEMAS, LEAST_VALID, MOST_MS = 300, 0.995, 25.0


def tried(schema: Schema) -> tuple[list[str], float]:
    """What is not valid of the inputs that are drawn, and the milliseconds of one. Raises InvalidArgument."""
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    validator = kind(schema, format_checker=kind.FORMAT_CHECKER)
    wrong: list[str] = []

    @seed(1)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(tool_inputs(schema))
    def valid(drawn: Any) -> None:
        wrong.extend(error.message for error in list(validator.iter_errors(drawn))[:1])

    start = time.process_time()
    valid()
    return wrong, (time.process_time() - start) * 1000 / EXAMPLES


def main() -> int:
    """Try all schemas."""
    parser = argparse.ArgumentParser(prog="python -m tests.tool_schemas", description=__doc__)
    parser.add_argument("node_modules", type=Path, help="where the packages of package.json are")
    modules: Path = parser.parse_args().node_modules
    document = modules / "@octokit/openapi/generated/api.github.com.json"
    warnings.simplefilter("ignore")
    found = [*of_servers(modules / ".bin"), *of_models(), *of_operations(document)]
    times: list[tuple[float, str]] = []
    refused = invalid = 0
    for name, schema in found:
        try:
            wrong, milliseconds = tried(schema)
        except InvalidArgument as error:
            refused += 1
            print(f"refused: {name}: {error}")
            continue
        times.append((milliseconds, name))
        invalid += len(wrong)
        if wrong:
            print(f"not valid, {len(wrong)} of {EXAMPLES}: {name}: {wrong[0]}")
    inputs = len(times) * EXAMPLES
    print(f"{len(found)} schemas, {refused} refused by name; {inputs} inputs, {invalid} not valid")
    for milliseconds, name in sorted(times, reverse=True)[:5]:
        print(f"{milliseconds:5.1f} ms an example: {name}")
    return int(len(found) < LEAST_SCHEMAS or invalid > inputs * (1 - LEAST_VALID) or max(times)[0] > MOST_MS)


if __name__ == "__main__":
    raise SystemExit(main())
