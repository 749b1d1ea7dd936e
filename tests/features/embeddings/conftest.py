"""What the tests of embeddings share with those of real clients: nothing but the loopback is reached."""

from tests.clients.conftest import _no_network

__all__ = ["_no_network"]
