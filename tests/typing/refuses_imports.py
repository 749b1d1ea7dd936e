"""What a user's type checker must refuse of the names: every line that ends in a comment `error`, and no other."""

import converse_harness
import converse_strategies
from converse_harness import Repli  # error
from converse_strategies import stream_event  # error

__all__ = ["Repli", "stream_event"]

converse_harness.fake_convers  # error
converse_harness.lazily  # error
converse_strategies.image  # error
