"""What the tests of features share with those of the core: an inner project, and recordings from outside."""

from tests.oracle.conftest import shared
from tests.plugin.conftest import imported, project, upstream

__all__ = ["imported", "project", "shared", "upstream"]
