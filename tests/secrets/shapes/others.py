"""What detect-secrets finds of the corpus and we do not: `nox -s detect_secrets` fails if there is more than is known.

Its rules for any random word are left out, as docs/recording.md says.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.secrets.shapes.rows import SHOWN, CorpusRow, shape_rows
from tests.secrets.shapes.seen import SEED, stored

FILE: Final = Path(__file__).with_name("only_detect_secrets.json")
LEFT_OUT: Final = ("Base64HighEntropyString", "HexHighEntropyString", "IPPublicDetector")

Known = dict[str, dict[str, list[str]]]
"""Shapes by the rule of detect-secrets and the kind."""


def only_there() -> Known:
    """Ask detect-secrets for every row that we do not find, line by line."""
    scan: Any = importlib.import_module("detect_secrets.core.scan")  # only the session installs it
    settings: Any = importlib.import_module("detect_secrets.settings")
    plugins: Any = importlib.import_module("detect_secrets.core.plugins.util")
    classes = plugins.get_mapping_from_secret_type_to_class().values()
    used = [{"name": each.__name__} for each in classes if each.__name__ not in LEFT_OUT]
    found: Known = {}
    with settings.transient_settings({"plugins_used": used}):
        for row in shape_rows(SEED):
            if row.kind in stored().get(row.shape, ()):
                for rule in dict.fromkeys(_rules(scan.scan_line, row)):
                    found.setdefault(rule, {}).setdefault(row.kind, []).append(row.shape)
    return found


def _rules(scan_line: Any, row: CorpusRow) -> Iterator[str]:
    for line in row.pieces[0].splitlines():
        for secret in scan_line(line):
            if any(_share(secret.secret_value, each) for each in row.secrets):
                yield str(secret.type)


def _share(value: str, secret: str) -> bool:
    """Whether what was found has a part of the secret in it."""
    return any(secret[at : at + SHOWN] in value for at in range(max(len(secret) - SHOWN, 0) + 1))


def new(found: Known, known: Known) -> list[str]:
    """What is found now, and is not known."""
    return [
        f"{rule}: {kind}, {shape}"
        for rule, kinds in found.items()
        for kind, shapes in kinds.items()
        for shape in shapes
        if shape not in known.get(rule, {}).get(kind, ())
    ]


def main(arguments: list[str]) -> int:
    """Compare with the file, or write it."""
    found = only_there()
    if arguments == ["--write"]:
        rules = (
            f"{json.dumps(rule)}: {{\n"
            + ",\n".join(f"{json.dumps(kind)}: {json.dumps(shapes)}" for kind, shapes in kinds.items())
            + "\n}"
            for rule, kinds in found.items()
        )
        FILE.write_text("{\n" + ",\n".join(rules) + "\n}\n", encoding="utf-8")
        return 0
    more = new(found, json.loads(FILE.read_text(encoding="utf-8")))
    number = sum(len(shapes) for kinds in found.values() for shapes in kinds.values())
    sys.stdout.write(f"detect-secrets finds {number} rows that we do not; {len(more)} of them are new\n")
    sys.stdout.writelines(f"  {each}\n" for each in more)
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
