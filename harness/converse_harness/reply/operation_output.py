"""The function `reply.output`, which makes the answer of an operation other than Converse, such as InvokeModel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from converse_harness.reply.usable import Usable
from converse_harness.stream.arguments import wrong
from converse_harness.words import shown


@dataclass(frozen=True, slots=True)
class OperationOutput(Usable):
    """The answer of an operation other than Converse, made by `reply.output`.

    `members` are the members of the operation's output. `uses` is the number of calls in a row that get this answer.
    """

    members: Mapping[str, Any]
    uses: int = 1
    may_be_unused: bool = False

    @property
    def summary(self) -> str:
        """A description in one line, such as `output {'inputTokens': 42}, 2 times`."""
        return self._with_use(f"output {shown(dict(self.members))}")

    def __repr__(self) -> str:
        return f"<O{self.summary.removeprefix('o')}>"


_MUST: Final = 'the members of an operation\'s output are a dict, as reply.output({"inputTokens": 42}).'


def output(members: Mapping[str, object]) -> OperationOutput:
    """Answer an operation other than Converse. `members` are the members of its output, as a boto3 client returns them.

    Pass the output to `on_operation`, or to a `when` with an operation. Like a reply, it has the methods `times` and
    `optional`. The members are checked by `on_operation` or `when`, because `output` does not know the operation. A
    member that is a blob, such as the `body` of InvokeModel, must be bytes. Raises ReplyError unless `members` is a
    mapping.

    >>> from converse_harness import fake_converse, reply
    >>> with fake_converse() as fake:
    ...     fake.on_operation("CountTokens", reply.output({"inputTokens": 42}).times(2).optional())
    <2 scripted replies, 0 must still be used: output {'inputTokens': 42}, 2 times, optional>
    """
    if not isinstance(members, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # tests are user code
        raise wrong("output", "members", members, _MUST)
    return OperationOutput(dict(members))
