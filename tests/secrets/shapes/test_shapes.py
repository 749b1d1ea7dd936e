"""What docs/recording.md says is found of the corpus is found, and what it says is not found is not found yet."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterable
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from converse_harness import record
from converse_harness.errors import ReplyError
from converse_harness.recordings.format.read import read
from tests.secrets.shapes.kinds import KINDS_OF_SECRETS
from tests.secrets.shapes.rows import CUTS, FIRST, CorpusRow, in_turn, kinds_in, leaks, place_rows, row, rows, text_in
from tests.secrets.shapes.seen import ALSO, SEED, TOGETHER, all_rows, claim_of, is_claimed, is_written, stored

CI: Final = 100
"""About so many rows are drawn for each change, always the same; every night all are, and as many new ones as NIGHT."""
NIGHT: Final = 5000
BY_CHANCE: Final = 0.01

WRITE: Final = "measure again: python -m tests.secrets.shapes --write"


def different(tried: Iterable[CorpusRow]) -> list[str]:
    """What the page says wrongly of rows, all rows of a claim together."""
    found = list[str]()
    for claim, of_claim in groupby(sorted(tried, key=claim_of), key=claim_of):
        several = [*of_claim]
        written = [each for each in several if is_written(each)]
        listed = claim[1] in stored().get(claim[0], ())
        if written and not listed:
            found.append(f"{written[0]!r} was found, and is written now")
        if listed and not written:
            found.append(f"{several[0]!r} was not found, and is found now; {WRITE}")
    return found


def sample() -> list[CorpusRow]:
    """Rows in the first place: each kind that is found somewhere, in a shape of its own; and some others."""
    every = [*in_turn()]
    random.Random(SEED).shuffle(every)
    found = [each for each in every if each[0].title not in stored().get(each[1], ())]
    listed = [each for each in every if each[0].title in stored().get(each[1], ())]
    drawn, seen = listed[: CI // 4], set[str]()
    for kind, shape, turn in found:
        if not {kind.title, shape} & seen:
            seen |= {kind.title, shape}
            drawn.append((kind, shape, turn))
    return [row(kind, shape, *FIRST, turn, SEED) for kind, shape, turn in drawn]


def test_a_sample_of_the_corpus_is_found_as_the_page_says() -> None:
    assert different(sample()) == []


def test_rows_in_other_places_and_cuts_are_found_if_the_page_says_so() -> None:
    drawn = [each for each in rows(SEED, TOGETHER) if is_claimed(each)][:CI]
    assert [repr(each) for each in drawn if is_written(each)] == [
        repr(each) for each in drawn if repr(each) in stored()[ALSO]
    ], WRITE


@pytest.mark.nightly
def test_the_whole_corpus_is_found_as_the_page_says() -> None:
    assert different(all_rows()) == []


@pytest.mark.nightly
def test_new_rows_are_found_if_the_page_says_so() -> None:
    """In a row that is new in three ways, chance decides; so a few may be written. Each of them is worth a look."""
    seed = random.randrange(2**32)
    drawn = [each for each in rows(seed, NIGHT) if is_claimed(each)]
    written = [each for each in drawn if is_written(each)]
    assert len(written) <= BY_CHANCE * len(drawn), f"of rows({seed}, {NIGHT}): {written}"
    print(f"{len(written)} of {len(drawn)} of rows({seed}, {NIGHT}): {written}")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::converse_harness.MaskedSecretWarning")
def test_the_real_recorder_writes_what_the_fast_way_says(tmp_path: Path) -> None:
    drawn = sample()[::4]
    assert {is_written(each) for each in drawn} == {True, False}
    assert [each for each in drawn if _is_recorded(each, tmp_path) != is_written(each)] == []


OK: Final[dict[str, Any]] = {
    "output": {"message": {"role": "assistant", "content": [{"text": "ok"}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    "metrics": {"latencyMs": 3},
}


def _is_recorded(planted: CorpusRow, folder: Path) -> bool:
    """Whether the secret is in the file that `record` writes of a request with the row's text."""
    path = Path(tempfile.mkdtemp(dir=folder), "r.jsonl")
    content = [{"text": piece} for piece in planted.pieces]
    url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse"
    try:
        with record(path) as recorder:
            transport = recorder.httpx_transport(httpx.MockTransport(lambda request: httpx.Response(200, json=OK)))
            with httpx.Client(transport=transport) as client:
                client.post(url, json={"messages": [{"role": "user", "content": content}]})
    except ReplyError:  # its exchange is left out
        return False
    if not path.exists():
        return False
    (exchange,) = read(path).exchanges
    return leaks(planted, text_in([exchange.call]))


def test_every_row_has_its_secret() -> None:
    every = [row(kind, shape, *FIRST, turn, 1) for kind, shape, turn in in_turn()[::9]] + [*islice(place_rows(1), 500)]
    assert [each for each in every if not each.secrets or not leaks(each, "".join(each.pieces))] == []


def test_the_same_seed_draws_the_same_rows_and_another_draws_others() -> None:
    one, same, other = (rows(seed, 50) for seed in (1, 1, 2))
    assert [each.pieces for each in one] == [each.pieces for each in same]
    assert not {each.pieces for each in one} & {each.pieces for each in other}
    assert len({claim_of(each) for each in rows(1, 1000)}) > 900


def test_the_corpus_is_large_and_each_name_stands_for_one_kind() -> None:
    titles = [kind.title for kind in KINDS_OF_SECRETS]
    assert len(titles) == len({*titles}) >= 100
    assert len(in_turn()) > 10_000
    assert {shape for _, shape, _ in in_turn()} >= {
        name for name in stored() if name.partition(": ")[0] not in (*CUTS, ALSO)
    }
    assert all(kinds_in(group) for group in ("token", "named", "line", "header", "block", "cookie"))
