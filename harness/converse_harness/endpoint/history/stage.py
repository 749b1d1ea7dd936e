"""The stage History: what a request changes of the fake's earlier answers, and which call it continues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from converse_harness.endpoint.call import SCRIPTED, Call
from converse_harness.endpoint.history.compare import KEEP_ANSWERS, changed_answer
from converse_harness.endpoint.history.recognise import Conversation
from converse_harness.endpoint.stage import Stage
from converse_harness.errors import ChangedHistory
from converse_harness.notes import Note

if TYPE_CHECKING:
    from converse_harness.endpoint import Endpoint


class History(Stage):
    """Compares the messages of each call with the answers before it."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._conversation = Conversation(endpoint.calls)
        self._level = endpoint.history

    def received(self, call: Call) -> None:
        """Note each change that a call makes to an earlier answer; with the level "fail", add one problem instead."""
        if call.operation not in SCRIPTED or call.turn == 1:
            return
        if self._level == "off":
            self._conversation.read(call)  # only to find its parent
            return
        changes = self._conversation.changes(call)
        texts = [changed_answer(call, each) for each in changes]
        if changes and self._level == "fail":
            self.endpoint.problems.append(ChangedHistory("\n\n".join(texts) + "\n\n", KEEP_ANSWERS))
            return
        for each, text in zip(changes, texts, strict=True):
            python, json = f"{text}\n\n{KEEP_ANSWERS.python}", f"{text}\n\n{KEEP_ANSWERS.json}"
            self.endpoint.note(call, Note(each.kind, python, call.number, json))

    def forgotten(self, call: Call) -> None:
        """Forget a call that the fake has dropped, and its answer."""
        self._conversation.forget(call)
