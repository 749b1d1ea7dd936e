"""The fuzzers' targets read their seeds, and find what is planted; atheris is not needed for that."""

import random
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import NoReturn

import pytest

from converse_harness.recordings.format import exchanges
from converse_harness.server import control
from tests.fuzz import frames
from tests.fuzz.__main__ import read_again
from tests.fuzz.inside import OWN, load
from tests.fuzz.target import Target
from tests.profiles import examples


def damaged(data: bytes, chance: random.Random) -> bytes:
    """A few bytes of it are others, gone or there twice."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(made) + 1)
        made[at : at + chance.randint(0, 4)] = chance.choice((b"", b"\0", b"\xff", b'"', b"9" * 9, made[at : at + 20]))
    return bytes(made)


def check_seeds(name: str) -> None:
    """Give a target its seeds, and each once more with a damage."""
    target = load(name)
    chance = random.Random(0)
    seeds = list(target.seeds())
    assert len(seeds) > 50
    chance.shuffle(seeds)
    for seed in islice(seeds, examples(2)):
        target.check(seed)
        target.check(damaged(seed, chance))


@pytest.mark.parametrize("name", OWN)
def test_seeds_and_what_is_nearly_one_are_no_findings(name: str) -> None:
    check_seeds(name)


def a_defect(*_: object, **__: object) -> NoReturn:
    raise KeyError("a defect")


PLANTED: Mapping[str, tuple[object, str]] = {
    "frames": (frames, "encode"),
    "recordings": (exchanges, "frame_bytes_of"),
    "control": (control, "describe"),
}


def check_defect(target: Target, file: Path, plant: Callable[[], None], capsys: pytest.CaptureFixture[str]) -> None:
    """Let a target read an input from a file before and after something breaks."""
    file.write_bytes(next(target.seeds()))
    assert read_again(target, file) == 0
    plant()
    assert read_again(target, file) == 1
    assert "KeyError: 'a defect'" in capsys.readouterr().out


@pytest.mark.parametrize("name", OWN)
def test_a_defect_is_found_and_found_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check_defect(load(name), tmp_path / "kept", lambda: monkeypatch.setattr(*PLANTED[name], a_defect), capsys)
