"""Consumers without a mistake, each of its own design: `python -m tests.planted.clean` prints what accuses them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Final

from converse_harness.contract import ConsumerContract
from tests.planted.agents import agent
from tests.planted.bugs import CONSUMERS
from tests.planted.by_contract import PROPERTIES_FIRST, accusations, contract_class
from tests.planted.designs.by_pattern import ByPattern
from tests.planted.designs.fallback import Fallback
from tests.planted.designs.leaves_early import LeavesEarly
from tests.planted.designs.parallel_tools import ParallelTools
from tests.planted.designs.raw_sockets import RawSockets
from tests.planted.designs.text_alone import TextAlone
from tests.planted.designs.whole_answers import WholeAnswers
from tests.planted.mended import mended

Contract = type[ConsumerContract]


def _agent() -> Contract:
    """The agent into which mistakes are planted; its suite is written as a user's, and imports `agent`."""
    sys.modules["agent"] = agent
    try:
        contract: Contract = import_module("tests.planted.agents.suite.suite_contract").TestAgent
    finally:
        del sys.modules["agent"]  # tests of the plugin have modules of this name
    return contract


def _mended(consumer: str) -> Contract:
    return contract_class(mended(consumer))


CLEAN: Final[Mapping[str, Callable[[], Contract]]] = {
    **{consumer: partial(_mended, consumer) for consumer in CONSUMERS},
    "agent": _agent,
    "raw_sockets": lambda: RawSockets,
    "parallel_tools": lambda: ParallelTools,
    "leaves_early": lambda: LeavesEarly,
    "text_alone": lambda: TextAlone,
    "whole_answers": lambda: WholeAnswers,
    "fallback": lambda: Fallback,
    "by_pattern": lambda: ByPattern,
}
"""Name of a design -> its contract."""


def seeded(contract: Contract, *, seed: int = 0, examples: int | None = None) -> ConsumerContract:
    """The contract with other draws."""
    members = {"seed": seed, **({} if examples is None else {"examples": examples})}
    made: Contract = type(contract.__name__, (contract,), members)
    return made()


def main() -> None:
    """Print what each design is accused of: by all cases and properties with the first seed, then by properties."""
    parser = argparse.ArgumentParser(prog="python -m tests.planted.clean", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *CLEAN], help="the designs (all)")
    parser.add_argument("--seeds", type=int, default=1, help="how often each search is made (1)")
    arguments = parser.parse_args()
    for name in arguments.names or CLEAN:
        for seed in range(arguments.seeds):
            accused = accusations(seeded(CLEAN[name](), seed=seed), *(PROPERTIES_FIRST if seed else ()))
            words = [f"{by}: {tried.seen.verdict.words}, {tried.seen.verdict.why}" for by, tried in accused]
            print(f"{name}, seed {seed}: {'; '.join(words) or 'nothing'}", flush=True)


if __name__ == "__main__":
    main()
