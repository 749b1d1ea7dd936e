"""The tables of docs/history.md are those of tests/public_threads; run as a script, this file writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import pytest

import converse_harness
from converse_harness import Call, Reply, reply
from converse_harness.bedrock.fit import BY_NAME as BY_ROW
from converse_harness.bedrock.rules import BY_NAME
from converse_harness.cases import CASES
from converse_harness.endpoint.prompt_cache.rewrites import CacheSummary
from converse_harness.faults import FAULTS
from converse_harness.words import plural
from tests.endpoint.answer_fit.test_fit_lessons import LESSONS as OF_FIT
from tests.endpoint.prompt_cache.public_threads.test_cache_lessons import LESSONS as OF_CACHE
from tests.examples.tables import DOCS, Row, Tables, code, markdown, names, with_tables
from tests.public_threads.thread import UserThread
from tests.public_threads.threads import CHAPTERS, INVOKE_MODEL, THREADS
from tests.public_threads.threads import LESSONS as OF_CORE

PAGE: Final = "history.md"
LESSONS: Final = {**OF_CORE, **OF_CACHE, **OF_FIT}
SEEN: Final = Path(__file__).parents[1] / "public_threads" / "released" / "seen.json"
"""What was seen of released clients; where it is missing the page has no section of them."""

KINDS: Final[Mapping[str, Collection[str]]] = {
    "case": CASES,
    "rule": BY_NAME,
    "row": BY_ROW,
    "fault": FAULTS,
    "helper": [
        *(f"reply.{name}" for name in dir(reply)),
        *(f"Reply.{name}" for name in dir(Reply)),
        *(f"Call.{name}" for name in dir(Call)),
        *(f"converse.cache.{name}" for name in dir(CacheSummary)),
        *dir(converse_harness),
    ],
}
"""What can show a bug, by its kind."""


def kind_of(name: str) -> str:
    """Whether it is a case, a rule, a row, a fault or a helper. Raises LookupError for what is none of them."""
    for kind, there in KINDS.items():
        if name in there:
            return kind
    raise LookupError(f"{name!r} is no case, rule, row, fault or helper")


def counts() -> Iterator[Row]:
    """How much of it a test can show."""
    shown = sum(bool(each.shown_by) for each in THREADS)
    yield "bugs in the tables of this page", ""
    yield "a case, rule, row, fault or helper shows the bug", str(shown)
    yield "nothing shows the bug, for the given reason", str(len(THREADS) - shown)
    yield "causes for which our own tests have one consumer with the bug and one mended", str(len(LESSONS))


def chapter(title: str) -> Iterator[Row]:
    """What users told about one matter."""
    yield "what went wrong", "shown by", "reported in"
    for thread in CHAPTERS[title]:
        month = f" ({thread.month})" if thread.month else ""
        yield thread.wrong, _shown(thread), ", ".join(thread.threads) + month


def _shown(thread: UserThread) -> str:
    if thread.why_not:
        return f"nothing: {thread.why_not}"
    kinds: dict[str, list[str]] = {}
    for name in thread.shown_by:
        kinds.setdefault(kind_of(name), []).append(code(name))
    told = "; ".join(f"{plural(len(there), kind)} {', '.join(there)}" for kind, there in kinds.items())
    return f"{told} ({thread.how})" if thread.how else told


def key(title: str) -> str:
    """What a chapter's table is called."""
    return re.sub(r"\W+", "_", title.partition(":")[0].lower())


TABLES: Final[Tables] = {"counts": counts, **{key(title): partial(chapter, title) for title in CHAPTERS}}

RELEASED: Final = "\n## Released versions, before and after\n"
ABOUT_RELEASED: Final = """
For each thread in the following table, a test was run with two released versions of the client. The test fails (*red*)
with the version that has the bug, and passes (*green*) with the version that corrected it. `nox -s history` runs these
tests.

"""


def released(seen: Iterable[Mapping[str, str]]) -> Iterator[Row]:
    """What was seen of released versions."""
    yield "client", "red", "green", "thread", "shown by", "failure of the red version"
    for row in seen:
        yield row["client"], row["red"], row["green"], row["thread"], code(row["shown_by"]), row["old"]


def with_released(page: str, seen: Iterable[Mapping[str, str]] | None) -> str:
    """The page with the section of released versions, or without it where nothing was seen of any."""
    page = page.partition(RELEASED)[0]
    return page if seen is None else page + RELEASED + ABOUT_RELEASED + markdown(released(seen))


def up_to_date(page: str) -> str:
    """The page as it should be."""
    seen = json.loads(SEEN.read_text(encoding="utf-8")) if SEEN.exists() else None
    return with_released(with_tables(page, TABLES), seen)


def test_the_page_is_what_the_tables_make() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert text == up_to_date(text), f"docs/{PAGE} is behind: python -m tests.examples.test_history_page"
    assert names(text) == list(TABLES)


@pytest.mark.parametrize("name", sorted({name for thread in THREADS for name in thread.shown_by}))
def test_what_shows_a_bug_is_there(name: str) -> None:
    kind_of(name)


def test_what_is_not_there_is_noticed() -> None:
    with pytest.raises(LookupError, match="'cut_of' is no case"):
        kind_of("cut_of")


def test_each_thread_is_shown_or_will_be_or_has_a_reason() -> None:
    for thread in THREADS:
        assert bool(thread.shown_by) != bool(thread.why_not), thread.threads


def test_few_have_a_reason_in_the_place_of_a_name() -> None:
    assert 12 * sum(bool(thread.why_not) for thread in THREADS) <= len(THREADS)


def test_what_is_shown_has_a_lesson_that_its_names_show() -> None:
    caused = {thread.cause for thread in THREADS if thread.shown_by}
    assert caused == {*LESSONS}
    for cause, lesson in LESSONS.items():
        shown = {name for thread in THREADS if thread.cause == cause for name in thread.shown_by}
        assert lesson.shown_by <= shown, cause


def test_threads_about_invoke_model_are_on_the_page() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert [thread for thread in INVOKE_MODEL if thread not in text] == []


def test_the_page_is_linked() -> None:
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert f"](docs/{PAGE})" in readme
    assert f"]({PAGE})" in (DOCS / "trouble.md").read_text(encoding="utf-8")


def test_released_versions_are_on_the_page_where_they_were_seen() -> None:
    page = (DOCS / PAGE).read_text(encoding="utf-8").partition(RELEASED)[0]
    row = {
        "client": "c",
        "red": "1.0",
        "green": "1.1",
        "thread": "a/b#1",
        "shown_by": "case cut_off",
        "old": "it | was",
    }
    shown = with_released(page, [row])
    assert shown.endswith("| c | 1.0 | 1.1 | a/b#1 | `case cut_off` | it \\| was |\n")
    assert with_released(shown, [row]) == shown
    assert with_released(shown, None) == page


if __name__ == "__main__":
    (DOCS / PAGE).write_text(up_to_date((DOCS / PAGE).read_text(encoding="utf-8")), encoding="utf-8")
