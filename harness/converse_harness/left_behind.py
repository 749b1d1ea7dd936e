"""The table LEFT_BEHIND: what a passing test may not have left behind, with the verdicts and the texts.

The errors, the notes and the table of docs/scripting.md are made from it. A kind without a text is silent, or has a
text with more parts in another module.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

LeftVerdict = Literal["error", "note", "warning", "nothing"]
"""What becomes of something that a test has left behind: the test fails, a line says so, Python warns, or nothing."""

_MORE: Final = "   More: converse-harness docs scripting left-behind"


class LeftKind(NamedTuple):
    """A kind of thing that a test leaves behind: what it is, its verdict, the text, and how a test says that it means
    it.

    `text` has places for values in braces. `meant` is a sentence in the form of Markdown; empty if a test cannot mean
    it.
    """

    verdict: LeftVerdict
    what: str
    text: str = ""
    meant: str = ""

    def told(self, **values: object) -> str:
        """Return the text with these values."""
        return self.text.format(**values) + _MORE


_STOPS_LATER: Final = (
    "Read the stream until it raises an error or ends. If the test means it: .optional() behind the reply, or "
    'unused="allow".'
)

LEFT_BEHIND: Final[dict[str, LeftKind]] = {
    "reply_unused": LeftKind(
        "error",
        "A reply of `script`, of `when(...).script` or of another operation was not used.",
        meant='`.optional()` behind the reply, or `unused="allow"`',
    ),
    "nothing_scripted": LeftKind(
        "error", "A `when` got no reply, or a `refuses` was not used in `with`.", meant='`unused="allow"`'
    ),
    "fault_not_reached": LeftKind(
        "error",
        "A stream is scripted to break (`.fails_after`, `.broken`, a case), and no client read as far as the break.",
        "call {call} was answered with a stream that breaks, and the client did not read as far as that. So the test "
        "shows nothing about it.\n\n"
        "answered  {answer}{line}\nread      {read}\n\n"
        f"{_STOPS_LATER}",
        '`.optional()` behind the reply, or `unused="allow"`',
    ),
    "function_ended": LeftKind(
        "error",
        "A function of the script raised `pytest.fail`, `SystemExit` or the like, and the code under test caught it.",
        "a function of the script ended with {kind}: {error}",
    ),
    "stream_not_read": LeftKind(
        "note",
        "A stream was not read as far as its messageStop.",
        "call {call} asked for a stream, and the client left it before its end.\n\n"
        "answered  {answer}{line}\nread      {read}\n\n"
        f"{_STOPS_LATER}",
        '`.optional()` behind the reply, or `unused="allow"`',
    ),
    "no_call": LeftKind(
        "note",
        "A fake that the test itself has opened, or has as a parameter, got no call, although it has an `always`, or "
        "the test goes through `fake.calls`.",
        "{fake} got no call. If the code under test must not call a model, say so before the fake closes: assert not "
        'fake.calls. If another test needs the fake, make it an autouse fixture, or set unused="allow".',
        '`assert not converse.calls`, or `unused="allow"`',
    ),
    "left_between_examples": LeftKind(
        "note",
        "An example of `@given` left replies of the fixture unused, and the next one got them.",
        "an example of @given left a reply unused, and the next example got it: {replies}. Open a fake in each "
        "example: `with fake_converse(...) as fake:`.",
        '`.optional()` behind the reply, or `unused="allow"`',
    ),
    "left_open": LeftKind(
        "note",
        "A fake that the test has opened by hand was still open at its end, or one that a setup of its class, of its "
        "module or a fixture has opened, at theirs. It was closed and checked.",
        "{fake} was still open at the end of the test, or of the fixture, that opened it. It was closed and checked "
        "there, so that it answers no other test. Open it in `with`, or in a fixture of a wider scope.",
    ),
    "not_opened": LeftKind(
        "warning",
        "A fake got replies and was never opened: FakeNotOpenWarning.",
        "{fake} has replies and was never opened, so it answered nobody. Open it: `with fake_converse(...) as fake:`.",
    ),
    "always_unused": LeftKind("nothing", "An `always`, or a `when(...).always`, answered no call. It is a stub."),
    "stopped_at_the_end": LeftKind(
        "nothing", "A client stopped at messageStop, and did not read the metadata, nor a break that comes later."
    ),
    "gave_up_waiting": LeftKind(
        "nothing",
        "A client closed a stream with pauses (`.paced`, `faults.stall`): it may have waited long enough.",
    ),
    "broken_as_a_whole": LeftKind(
        "nothing", "A client closed an answer whose fault is in the whole of it, such as `faults.json_for_stream`."
    ),
    "asked_indirectly": LeftKind(
        "nothing",
        "A fake of an autouse fixture, of another fixture, of a unittest class or of `@given` got no call.",
    ),
    "left_on_the_server": LeftKind(
        "nothing",
        "A fake of `converse_server` was still open, or one on a server of another fixture.",
    ),
    "nothing_to_answer": LeftKind(
        "nothing",
        "A fake without an `always` got no call, and no reply is left. Such a call would have failed the test.",
    ),
    "exchange_unused": LeftKind("nothing", "An exchange of a recording that plays was not used. The summary lists it."),
    "of_a_failed_test": LeftKind(
        "nothing", "Any of these but an open fake, in a test that fails, is skipped or runs again with a fault."
    ),
}
