"""One target in a process of its own, which libFuzzer ends: `python -m tests.fuzz.inside TARGET SETTING...`."""

import importlib
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tests.fuzz.target import Target

OWN: Final = ("frames", "recordings", "control")
"""The modules beside this one, each with its TARGET."""

TARGETS: Final[Mapping[str, str]] = {
    **{name: f"tests.fuzz.{name}" for name in OWN},
    **{
        folder.name: f"tests.features.{folder.name}.fuzz"
        for folder in sorted(Path(__file__).parents[1].joinpath("features").glob("*"))
        if (folder / "fuzz.py").exists()
    },
}
"""Maps each target to its module. A feature has its own in its folder."""


def load(name: str) -> "Target":
    """The target of this name; nothing of the product is imported before."""
    target: Target = importlib.import_module(TARGETS[name]).TARGET
    return target


def main(name: str, *settings: str) -> None:
    """Fuzz until libFuzzer has enough of it."""
    try:
        atheris: Any = importlib.import_module("atheris")  # it has no types
    except ModuleNotFoundError:
        raise SystemExit("The fuzzers need atheris: pip install atheris, or run nox -s fuzz.") from None
    with atheris.instrument_imports(include=["converse_harness"]):
        target = load(name)
        for seed in target.seeds():  # what is imported where it is needed is imported now
            with suppress(Exception):  # if it is a finding, libFuzzer has it among its first inputs
                target.check(seed)
    atheris.Setup([sys.argv[0], *settings], target.check)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
