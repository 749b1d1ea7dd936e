"""The warnings that pydantic gives about litellm's code; this project's own settings make each warning an error."""

from __future__ import annotations

from typing import Final

WARNINGS: Final = (
    r"ignore::UserWarning:pydantic\._internal\.",  # about litellm's own types; each release brings others
    "ignore:Accessing the 'model_(computed_)?fields' attribute:DeprecationWarning",
)
