"""What Bedrock refuses in a request, with its words, as one table, in the order in which a request is held to it.

Indexes in messages count from 0, but those of the modelled constraints from 1: so it is in what people saw.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from converse_harness.rules.gateway import GATEWAY
from converse_harness.rules.profiles import PROFILES
from converse_harness.rules.rule import Rule

RULES: Final[tuple[Rule, ...]] = (*GATEWAY, *PROFILES)
"""A request is refused for the first of these that it breaks."""

BY_NAME: Final[Mapping[str, Rule]] = {rule.name: rule for rule in RULES}
