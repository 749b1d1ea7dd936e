"""What messages and sources of several rules have in common."""

from __future__ import annotations

from typing import Final

MODEL: Final = "The model returned the following errors: "
"""What stands before a message that is the model's own, not the gateway's."""

MULTIMODAL: Final = "recorded: pydantic-ai, test_multimodal_tool_returns"

PROBED: Final = "a probe of some 70 models on 2026-10-10, in public source code"


def no_field(name: str) -> str:
    """A model does not know a field.

    >>> no_field("status")
    "This model doesn't support the status field. Remove status and try again."
    """
    return f"This model doesn't support the {name} field. Remove {name} and try again."


def no_block(kind: str) -> str:
    """A model does not take a kind of content block."""
    said = f"This model doesn't support the {kind} content block that you provided."
    return f"{said} Update the content block and try again."
