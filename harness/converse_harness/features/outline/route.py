"""`GET /__converse/fakes/{id}/outline`: the outline of a fake on the server, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from converse_harness.features.outline.entries import FORM
from converse_harness.features.outline.outline import outline_of_calls

if TYPE_CHECKING:
    from converse_harness.server.mounts import ServerFake


def outline_of_fake(fake: ServerFake) -> dict[str, Any]:
    """Return the version of the form, the entries, and the text of a fake's outline."""
    made = outline_of_calls(fake.calls)
    return {"form": FORM, "outline": [*made], "text": str(made)}
