"""What the tests of the pages in Chromium share with those of the matrix."""

from tests.clients.conftest import _no_network
from tests.clients.pinned.browser.conftest import _chromium, visit

__all__ = ["_chromium", "_no_network", "visit"]
