"""The names that this feature adds to Call and Seen, for type checkers. This module imports nothing of the project."""

from typing import Any


class OutlineOfCall:
    """The property that this feature adds to Call."""

    @property
    def outline(self) -> dict[str, Any]:
        """This call's entry in an outline."""
        raise NotImplementedError


class OutlineOfSeen:
    """The property that this feature adds to Seen, the observations of a case of a contract."""

    @property
    def outline(self) -> list[dict[str, Any]]:
        """The outline of the consumer's calls."""
        raise NotImplementedError
