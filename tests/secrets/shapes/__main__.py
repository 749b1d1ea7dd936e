"""Measure the corpus again (`python -m tests.secrets.shapes --write`), or show the rows of a kind and a shape."""

import sys

from tests.examples.tables import write as write_tables
from tests.examples.test_recording_pages import PAGES, TABLES
from tests.secrets.shapes import seen
from tests.secrets.shapes.rows import verdict

if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        seen.write()
        seen.stored.cache_clear()
        for page in PAGES:
            write_tables(page, TABLES)
    else:
        kind, shape = (*sys.argv[1:], "", "")[:2]
        for each in seen.chosen(kind, shape):
            print(f"{verdict(each):8}  {each!r}")
            if shape:
                print("          " + "\n          ".join(map(repr, each.pieces)))
