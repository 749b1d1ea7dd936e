"""What the score is about: the modules of each topic, and what in them only makes words."""

from collections.abc import Mapping
from typing import Final

SCORED: Final = 400
"""How many mutants are drawn."""
LEAST: Final = 90
"""Of 100 of them so many are killed."""

TOPICS: Final[Mapping[str, tuple[str, ...]]] = {
    "codec": (
        "converse_harness.bedrock.api.codec",
        "converse_harness.bedrock.api.service",
        "converse_harness.recordings.format.lines",
        "converse_harness.stream.events",
        "converse_harness.stream.frames",
    ),
    "grammar": ("converse_harness.stream.grammar",),
    "assembly": ("converse_harness.stream.assemble", "converse_harness.stream.chunk"),
    "matching": (
        "converse_harness.endpoint.script",
        "converse_harness.recordings.chance",
        "converse_harness.recordings.review.compare",
        "converse_harness.recordings.play.matching",
    ),
    "secrecy": (
        "converse_harness.secrets.views",
        "converse_harness.secrets.accounts",
        "converse_harness.secrets.encodings",
        "converse_harness.secrets.leaks",
        "converse_harness.secrets.removal",
        "converse_harness.recordings.leaks",
        "converse_harness.recordings.redaction",
        "converse_harness.recordings.record.write",
        "converse_harness.secrets.kinds",
        "converse_harness.secrets.process",
        "converse_harness.secrets.readable",
        "converse_harness.secrets.mask",
    ),
    "rules": ("converse_harness.bedrock.rules",),
}

WORDINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "endpoint/script.py": ("__str__", "describe", "summary", "_used", "where"),
    "secrets/leaks.py": ("__str__",),
    "record/write.py": ("said_of_masked", "said_of_left_out", "_secrets", "_listed"),
}
"""Functions that make a message; what stands in an f-string is one anyway. A module is named by how its path ends."""

LEFT_OUT: Final = frozenset({"Is_Eq", "IsNot_NotEq", "Eq_Is", "NotEq_IsNot"})
"""Comparisons by identity for those by equality, and back: for None, members of enums, types and short texts the
same."""
