"""For each rule a request that breaks it and no other, where that is, and what Bedrock says: all written by hand."""

from __future__ import annotations

from tests.rules import broken_claude, broken_gateway, broken_profiles

BROKEN = {**broken_gateway.BROKEN, **broken_claude.BROKEN, **broken_profiles.BROKEN}
