"""All rules in one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from converse_harness.bedrock.rules.claude import CLAUDE_TALK
from converse_harness.bedrock.rules.claude_contents import CLAUDE_CONTENTS
from converse_harness.bedrock.rules.contents import CONTENTS
from converse_harness.bedrock.rules.families import OTHER_FAMILIES
from converse_harness.bedrock.rules.gateway import REQUEST
from converse_harness.bedrock.rules.rule import Rule

GATEWAY: Final[tuple[Rule, ...]] = (*REQUEST, *CONTENTS)
"""What Bedrock refuses before any model sees a request."""

PROFILES: Final[tuple[Rule, ...]] = (*CLAUDE_TALK, *CLAUDE_CONTENTS, *OTHER_FAMILIES)
"""What single families of models refuse."""

RULES: Final[tuple[Rule, ...]] = (*GATEWAY, *PROFILES)
"""A request is refused for the first of these that it breaks."""

BY_NAME: Final[Mapping[str, Rule]] = {rule.name: rule for rule in RULES}
"""The rules by their names."""
