"""What the tests of the live page share with those of the server: nothing is left behind."""

from tests.server.conftest import little_to_collect, nothing_is_left, server

__all__ = ["little_to_collect", "nothing_is_left", "server"]
