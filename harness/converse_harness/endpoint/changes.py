"""The table of changes that a request can make to an earlier answer in its messages, and the texts about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from converse_harness.endpoint.call import Call
from converse_harness.errors import Advice
from converse_harness.secrets import common_length, mask

HistoryChangeKind = Literal[
    "history_leaves_out_tool_use",
    "history_adds_tool_use",
    "history_adds_tool_result",
    "history_changes_tool_name",
    "history_changes_tool_input",
    "history_changes_text",
    "history_changes_reasoning",
    "history_changes_signature",
    "history_leaves_out_reasoning",
]


class HistoryChangeWords(NamedTuple):
    """The texts for one kind of change: its meaning, and the rest of a sentence that begins with the call's number."""

    means: str
    words: str


HISTORY_CHANGES: Final[Mapping[HistoryChangeKind, HistoryChangeWords]] = {
    "history_leaves_out_tool_use": HistoryChangeWords(
        "a tool use is missing, and other blocks of the same answer are there",
        "leaves out toolUse {name} of the answer to call {number}",
    ),
    "history_adds_tool_use": HistoryChangeWords(
        "a message of the model has a tool use that no answer gave",
        "adds toolUse {name} to the answer to call {number}",
    ),
    "history_adds_tool_result": HistoryChangeWords(
        "after an answer comes a tool result for an id that no answer gave and no tool use has",
        "adds a toolResult for {name}, which the answer to call {number} did not ask for",
    ),
    "history_changes_tool_name": HistoryChangeWords(
        "a tool use has another name",
        "changes the name of toolUse {name} in the answer to call {number}",
    ),
    "history_changes_tool_input": HistoryChangeWords(
        "a tool use has another input, as a JSON value",
        "changes the input of toolUse {name} in the answer to call {number}",
    ),
    "history_changes_text": HistoryChangeWords(
        "a text of 16 characters or more was changed but is still similar, was cut, or continues in the same line",
        "changes text in the answer to call {number}",
    ),
    "history_changes_reasoning": HistoryChangeWords(
        "the text or the redacted bytes of reasoning are different",
        "changes reasoning in the answer to call {number}",
    ),
    "history_changes_signature": HistoryChangeWords(
        "reasoning has another signature, or, for Claude, no signature",
        "changes the signature of reasoning in the answer to call {number}",
    ),
    "history_leaves_out_reasoning": HistoryChangeWords(
        "reasoning is missing before the tool results, for Claude with thinking `enabled`",
        "leaves out reasoning of the answer to call {number}",
    ),
}
"""Every kind of change that is reported, by its name."""


class HistoryChange(NamedTuple):
    """A change to the answer of the call with this `number`: the old text (`was`) and the new text (`now`).

    `name` is the name of the tool or the id of the tool result; it is empty for texts and reasoning. `message` is the
    index of a message in the request: the first message of the turn that contains the answer.
    """

    kind: HistoryChangeKind
    number: int
    name: str
    was: str
    now: str
    message: int

    @property
    def key(self) -> tuple[str, str, str]:
        """A key that identifies the change. A later request that repeats the change gives an equal key."""
        return self.kind, self.name, self.was


NOTHING: Final = "nothing"
"""The text shown in place of a missing block."""

_SHOWN: Final = 80
_BEFORE: Final = 20

_NEAR: Final = 4000
"""The maximum number of characters before and after a difference that are searched for secrets.

Longer secrets are unlikely.
"""


def changed_answer(call: Call, change: HistoryChange) -> str:
    """Return the message about one change to an earlier answer."""
    first = HISTORY_CHANGES[change.kind].words.format(name=change.name, number=change.number)
    was, now = _apart(change.was, change.now)
    return mask(
        f"call {call.number} {first}\n\narrived   {call.asked}\n"
        f"was       {was}\nis now    {now}\nat        messages[{change.message}]"
    )


_KEEP: Final = (
    "The model goes on from words that are not its own. Keep the message of each answer as it came, all of its\n"
    "blocks, and send that back. If the change is meant: "
)

KEEP_ANSWERS: Final = Advice(
    f'{_KEEP}@pytest.mark.converse(history="off").   More: converse-harness docs conversation',
    f'{_KEEP}open the fake with "history": "off".   More: converse-harness docs conversation',
)
"""The advice about a changed answer."""


def _apart(was: str, now: str) -> tuple[str, str]:
    """Mask secrets in two texts, and shorten each text to one line.

    Both lines begin shortly before the first difference of the texts.
    """
    place = max(0, common_length(was, now) - _NEAR)
    masked = [mask(text[place : place + 2 * _NEAR]) for text in (was, now)]
    same = common_length(*masked)
    start = same - _BEFORE if same > 2 * _BEFORE else 0
    begins = "..." if place + start else ""
    shown = [text[start : start + _SHOWN].replace("\n", "\\n") for text in masked]
    ends = ["..." * (len(text) > start + _SHOWN) for text in masked]
    return f"{begins}{shown[0]}{ends[0]}", f"{begins}{shown[1]}{ends[1]}"
