"""What a user's type checker must accept of the packages' public names."""

from typing import assert_type

import converse_harness
import converse_strategies
from converse_harness import Reply, cases, fake_converse, faults, reply
from converse_strategies import Refused, stream_events

assert_type(converse_harness.reply.text("a"), Reply)
assert_type(reply.text("a"), converse_harness.Reply)
names = (cases.__name__, faults.__name__, fake_converse.__name__, Refused.__name__, stream_events.__name__)
strategies = (converse_strategies.images(), converse_strategies.messages())
warned: tuple[type[Warning], ...] = (
    converse_harness.ConverseNoteWarning,
    converse_harness.FakeNotOpenWarning,
    converse_harness.JournalWarning,
    converse_harness.MaskedSecretWarning,
)
