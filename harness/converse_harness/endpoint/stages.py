"""The stages of every fake, in their order, and the classes with the members that they add to Fake.

Only this module of the core imports the folders of the built-in stages. Take one away by deleting its folder, its tests
and its lines here.
"""

from __future__ import annotations

from typing import Final

from converse_harness.endpoint.answer_fit.stage import AnswerFit
from converse_harness.endpoint.expected_refusals.expected import ExpectedRefusals, RefusesOfFake
from converse_harness.endpoint.history.stage import History
from converse_harness.endpoint.prompt_cache.stage import CacheOfFake, PromptCaching
from converse_harness.endpoint.stage import Stage
from converse_harness.endpoint.standing import Conditions, ReadStreams, Recordings, RepliesInOrder, Rules

STAGES: Final[tuple[type[Stage], ...]] = (
    History,
    Rules,
    Conditions,
    Recordings,
    RepliesInOrder,
    ReadStreams,
    AnswerFit,
    ExpectedRefusals,
    PromptCaching,
)
"""The classes of the stages, in the order in which the methods of their objects are called."""


class StagesOfFake(
    RefusesOfFake,
    CacheOfFake,
):
    """The members of a Fake that stand on stages."""
