"""Realistic example values: one for every message and tool type, and one for every kind of personal data.

They tell one story, so that they fit each other: a traveller asks what to pack, the model asks a tool for the weather,
the tool answers. A value is the same in every process, and new each time: change it as you like. In pytest each is a
fixture as well; `table.py` has them all.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from converse_harness.samples.lookup import NAMES as NAMES
    from converse_harness.samples.lookup import UnknownSample as UnknownSample
    from converse_harness.samples.lookup import pii as pii
    from converse_harness.samples.lookup import sample as sample
    from converse_harness.samples.lookup import variants as variants

__all__ = ["NAMES", "UnknownSample", "pii", "sample", "variants"]

if not TYPE_CHECKING:  # pytest imports this package for its table; the rest comes when it is used

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("converse_harness.samples.lookup"), name)

    def __dir__():
        return __all__
