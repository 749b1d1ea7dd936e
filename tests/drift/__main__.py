"""List the rows of the table of models, and the rules, that the answers in a folder contradict.

`nox -s drift -- FOLDER` runs it. The exit code is 1 if there are any. Files that are no recording, no cassette and no
JSON of a request and its response are named on the error stream.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from converse_harness.words import counted
from tests.drift.rows import contradictions
from tests.drift.witnesses import seen_answers


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="nox -s drift --", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "folder", metavar="FOLDER", type=Path, help="a folder with recordings, cassettes, or JSON files"
    )
    folder: Path = parser.parse_args(arguments).folder
    if not folder.is_dir():
        parser.error(f"{folder} is no folder")
    unread: list[str] = []
    answers = [*seen_answers(folder, unread)]
    for line in unread:
        print(f"not read: {line}", file=sys.stderr)
    found = contradictions(answers)
    for each in found:
        print(f"{each.row}\n  says   {each.says}\n  seen   {each.month or 'no month'}, {each.seen}")
        print(f"  paste  {each.paste}" if each.paste else "  paste  a row for this id")
    print(f"{counted(len(found), 'contradiction')} in {counted(len(answers), 'answer')}.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
