"""What the tests of cassettes share with those of recordings."""

from tests.recordings.conftest import _no_proxy

__all__ = ["_no_proxy"]
