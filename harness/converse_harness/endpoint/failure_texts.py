"""Build the messages of failures, and the transcript of calls for reports. Secrets are masked.

Most messages show calls and give advice; some also list the replies of the script.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from converse_harness import bedrock
from converse_harness.bedrock.rules import Refusal, Verdict
from converse_harness.endpoint.call import SCRIPTED, CacheOfCall, Call, FitOfCall
from converse_harness.endpoint.operations import NamedOperation
from converse_harness.endpoint.outputs import no_handler
from converse_harness.endpoint.own_answers.control_plane import why_unknown
from converse_harness.endpoint.own_answers.unknown_paths import problem_of
from converse_harness.endpoint.script import NOT_USED, Missed, Script, Slot, describe
from converse_harness.errors import Advice, RefusedRequest, UnexpectedCall, UnusedReplies
from converse_harness.secrets.mask import mask
from converse_harness.user_lines import UserLine
from converse_harness.words import counted

_WIDTH: Final = 48

_ROWS: Final = 50
"""A failure message lists at most this number of replies, and at most this number of calls.

A transcript lists every call.
"""

_IN_JSON: Final = "   More: converse-harness docs control-api what-fails-a-test"

_ADVICE: Final[Mapping[str, Advice]] = {
    "nothing scripted": Advice(
        "Nothing is scripted. Say what the model answers before the agent runs:\n"
        'converse.script(reply.text("..."))   More: converse-harness docs scripting replies-in-order',
        f'Nothing is scripted. Open the fake with what the model answers:\n"script": [{{"text": "..."}}]{_IN_JSON}',
    ),
    "block ended": Advice(
        "Replies of `with converse.script(...):` answer only the calls inside the block. Move the call into the\n"
        "block, or script the replies without `with`.   More: converse-harness docs scripting replies-in-order",
        f'The replies were removed. Open a fake with what the model answers:\n"script": [{{"text": "..."}}]{_IN_JSON}',
    ),
    "tool loop": Advice(
        "The agent went round its tool loop once more than the script expects. Add a reply for it, or use\n"
        'converse.always(...) for "any number of times".   More: converse-harness docs scripting running-out',
        "The agent went round its tool loop once more than the script expects. Add a reply for it, or give\n"
        f'"always": {{"text": "..."}} for "any number of times".{_IN_JSON}',
    ),
    "retry": Advice(
        "The client repeated a call that had failed. Script the failure as often as it tries,\n"
        "for instance reply.throttled().times(3), and what comes after it; or let it try once:\n"
        "@pytest.mark.converse(attempts=1), or fake_converse(attempts=1).   "
        "More: converse-harness docs scripting retries",
        "The client repeated a call that had failed. Script the failure as often as it tries,\n"
        f'for instance {{"throttled": true, "times": 3}}, and what comes after it.{_IN_JSON}',
    ),
    "another turn": Advice(
        "The agent asked once more than the script expects. Add a reply for it, or use\n"
        'converse.always(...) for "any number of times".   More: converse-harness docs scripting running-out',
        "The agent asked once more than the script expects. Add a reply for it, or give\n"
        f'"always": {{"text": "..."}} for "any number of times".{_IN_JSON}',
    ),
    "no condition met": Advice(
        "No condition matches and nothing else is scripted. Correct the nearest condition, or answer\n"
        "everything else with converse.always(...).   More: converse-harness docs scripting by-what-is-asked",
        "No condition matches and nothing else is scripted. Correct the nearest condition, or answer\n"
        f'everything else with "always": {{"text": "..."}}.{_IN_JSON}',
    ),
    "refused": Advice(
        'Where the test is about this refusal: with converse.refuses("{rule}"): ...\n'
        'Where the model does accept it: @pytest.mark.converse(rules={"{rule}": "off"}), or rules= of a fake.\n'
        "More: converse-harness docs rules expected-refusals",
        'Where the test is about this refusal, open the fake with "unexpected": "allow". Where the model does\n'
        'accept it, or the test is about something else: "rules": {"{rule}": "off"}.   '
        "More: converse-harness docs rules levels",
    ),
    "malformed": Advice(
        'Where the test is about this error: @pytest.mark.converse(unexpected="allow"), or '
        'fake_converse(unexpected="allow").   '
        "More: converse-harness docs rules a-body-of-another-structure",
        'Where the test is about this error, open the fake with "unexpected": "allow".   '
        "More: converse-harness docs rules a-body-of-another-structure",
    ),
    "unused": Advice(
        "Remove what the test does not need, write .optional() behind a reply that may stay unused, or allow it for\n"
        'the whole test: @pytest.mark.converse(unused="allow"), or fake_converse(unused="allow").   '
        "More: converse-harness docs scripting unused-replies",
        'Remove what the test does not need, add "optional": true to a reply that may stay unused, or open the fake\n'
        f'with "unused": "allow".{_IN_JSON}',
    ),
}

_ANOTHER_OVER_HTTP: Final = (
    'Add an answer to the `when` with the operation, {"output": {...}}, or answer any number of calls: "always": '
    f'{{"output": {{...}}}}.{_IN_JSON}'
)
"""The advice if an operation is called more often than the script has answers."""

_GUARDRAIL_OVER_HTTP: Final = (
    'Add a reply for it to the `when` with the operation, or answer any number of calls: "always": '
    f'{{"guardrail_blocked": true}}.{_IN_JSON}'
)
"""The advice if ApplyGuardrail is called more often than the script has replies."""


def unexpected_call(script: Script, call: Call) -> UnexpectedCall:
    """Return the error for a call that has no reply."""
    missed = [found for queue in script.recordings if (found := queue.explain(call)) is not None]
    if missed:
        return _missed(script, call, missed)
    own_queues = script.for_operation(call)
    queues = own_queues or script.recordings
    slots = [slot for queue in queues for slot in queue.slots]
    if call.operation not in SCRIPTED and own_queues:
        return _unexpected_operation(script, call, slots)
    if not slots and script.ended:
        why, advice = "has no reply: the `with` block of its replies has ended.", "block ended"
    elif not slots:
        why, advice = "has no reply: nothing is scripted.", "nothing scripted"
    elif queues[0].condition and not script.ordered.slots and not any(slot.used_by for slot in slots):
        why, advice = "has no reply: no condition matches.", "no condition met"
    else:
        by_turn = "tool loop" if call.tool_results else "another turn"
        why, advice = "has no reply left.", "retry" if call.attempt > 1 else by_turn
    return _without_reply(script, call, f"call {call.number} {why}", _ADVICE[advice])


def _unexpected_operation(script: Script, call: Call, slots: Sequence[Slot]) -> UnexpectedCall:
    """Return the error for a call of an operation other than Converse if no unused answer in the script fits."""
    why = "has no answer left." if any(slot.used_by for slot in slots) else "has no answer: no condition matches."
    named = NamedOperation(call.service, str(call.operation))
    advice = Advice(
        f"Add an answer: {named.written('...', '{...}')}. A function of the call answers\n"
        f"any number of calls: {named.written('lambda call: {...}')}."
        "   More: converse-harness docs scripting answers-in-order",
        _GUARDRAIL_OVER_HTTP if call.operation == "ApplyGuardrail" else _ANOTHER_OVER_HTTP,
    )
    first = f"call {call.number}, {call.operation}, {why}"
    return _without_reply(script, call, first, _ADVICE["retry"] if call.attempt > 1 else advice)


def _without_reply(script: Script, call: Call, first: str, advice: Advice) -> UnexpectedCall:
    def text(*, in_json: bool) -> str:
        return mask(f"{first}\n\n{_arrived([call])}\n{_scripted(script, call, in_json=in_json)}\n\n")

    return UnexpectedCall(Advice(text(in_json=False), text(in_json=True)), advice)


def _missed(script: Script, call: Call, missed: Sequence[Missed]) -> UnexpectedCall:
    """Return the error for a call that matches no recorded exchange.

    The error lists the reason for each recording in `missed`, and the other replies of the script.
    """
    others = bool(describe(script, recordings=False))

    def text(*, in_json: bool) -> str:
        head = _arrived([call])
        if others:
            head += f"\n{_scripted(script, call, recordings=False, in_json=in_json)}"
        if len(missed) == 1:
            return mask(f"{missed[0].first}\n\n{head}\n{missed[0].told}")
        first = f"call {call.number} matches no exchange of {len(missed)} recordings."
        return mask("\n\n".join((first, head, *(f"{each.first}\n{each.told}" for each in missed))))

    return UnexpectedCall(Advice(text(in_json=False), text(in_json=True)))


def refused_request(call: Call, refusal: Refusal) -> RefusedRequest:
    """Return the error for a request that Bedrock would refuse; it contains the evidence for the broken rule."""
    text = f"Bedrock would refuse call {call.number}: {refusal.message}\n\n{_evidence(call, refusal)}"
    advice = Advice(*(each.replace("{rule}", refusal.rule.name) for each in _ADVICE["refused"]))
    return RefusedRequest(mask(f"{text}\n\nMend the request. "), advice)


def malformed_request(call: Call) -> RefusedRequest:
    """Return the error for a request whose body is not JSON, or does not have the structure in AWS's API model."""
    text = mask(
        f"Bedrock would refuse call {call.number}: {call.malformed}\n\n{_arrived([call])}\n"
        "answered  400 SerializationException, at every level of rules: no reply fits such a body\n\n"
        "Mend the request. "
    )
    return RefusedRequest(text, _ADVICE["malformed"])


def noted_request(call: Call, refusal: Refusal) -> str:
    """Return the note about a request that the fake answered, although Bedrock would or may refuse it, or ignores a
    part of it.
    """
    does = _NOTED.get(refusal.rule.verdict, "would refuse")
    return mask(f"Bedrock {does} call {call.number}: {refusal.message}\n\n{_evidence(call, refusal)}")


_NOTED: Final[Mapping[Verdict, str]] = {"note": "may refuse", "ignored": "ignores a part of"}
"""Maps the verdicts in NOTING to what Bedrock does with a request that breaks such a rule."""


def _evidence(call: Call, refusal: Refusal) -> str:
    rule = refusal.rule
    inferred = f"\ninferred  from {refusal.inferred_from}: nothing is known of {call.model_id}, which is newer"
    return (
        f"arrived   {call.asked}\nrule      {rule.name}: {rule.what}\nbroken at {refusal.path}\n"
        f"source    {rule.source}{inferred if refusal.inferred_from else ''}"
    )


def unknown_operation(script: Script, call: Call) -> UnexpectedCall:
    """Return the error for a call of an operation that is not scripted, or of a path that is no operation."""
    return _no_operation(call) if call.operation is None else _not_scripted(script, call, call.operation)


def _no_operation(call: Call) -> UnexpectedCall:
    problem = problem_of(call)
    return UnexpectedCall(mask(f"{problem.first}\n\n{_arrived([call])}\n\n{problem.last}"), problem.advice)


def _not_scripted(script: Script, call: Call, operation: str) -> UnexpectedCall:
    named = NamedOperation(call.service, operation)
    refused = no_handler(named) if operation in bedrock.operations(call.service) else _NOT_KNOWN.format(named=named)
    if refused is not None:
        return UnexpectedCall(mask(f"{operation} is not answered.\n\n{_arrived([call])}\n\n{refused}"))
    from converse_harness.bedrock.api.example import output_example  # few tests need it

    output = output_example(operation, call.service)
    handled = (
        "Answer it once, with the members of its output, for instance:\n"
        f"{named.written(repr(output))}\n"
        "or any number of times, with a function of the call:\n"
        f"{named.written(f'lambda call: {output!r}')}   More: converse-harness docs scripting answers-in-order"
    )
    if operation == "GetInferenceProfile":
        handled = (
            "What stands behind this profile is not known. Name its model: "
            '@pytest.mark.converse(models={"arn:*": "us.amazon.nova-lite-v1:0"}), or fake_converse(models=...).\n'
            f"{handled}"
        )
    reason = why_unknown(call)
    if reason is None:
        first = f"{operation} of {call.service} is not scripted."
        others = [each.service for each in script.named if each.name == operation]
        if others:
            first += f" The script answers {operation} of {' and '.join(others)}."
    else:
        first = f"{operation} is not answered: {reason}"
    # Not masked, because account ids of the example are invented, and the line must work as it stands.
    advice = Advice(handled, _in_json(named, output))
    return UnexpectedCall(mask(f"{first}\n\n{_arrived([call])}\n\n"), advice)


_NOT_KNOWN: Final = (
    "The installed botocore has no operation {named.name} of {named.service}. Upgrade it: pip install --upgrade boto3"
)


def _in_json(named: NamedOperation, output: Mapping[str, object]) -> str:
    """Return the advice for users of the control API: a condition with an answer, as JSON."""
    members = bedrock.to_json(bedrock.operation(named.name, named.service).output_shape.name, output, named.service)
    return (
        "Open the fake with an answer, with the members of its output, for instance:\n"
        f'"when": [{{{named.in_json}, "script": [{{"output": {members}}}]}}]{_IN_JSON}'
    )


def recorded_no_further(call: Call) -> UnexpectedCall:
    """Return the error for a client that continues to read at the point where the recorded client disconnected."""
    text = (
        f"call {call.number} reads on where its recording ends: the client that was recorded had stopped reading "
        "there, so what comes after is not known.\n\n"
        f"{_arrived([call])}\n\nRecord the session again with a client that reads to the end."
    )
    return UnexpectedCall(mask(text))


def unused_replies(script: Script, calls: Sequence[Call], unused: Sequence[Slot]) -> UnusedReplies:
    """Return the error for replies that no call used."""
    count = sum((slot.uses or 0) - len(slot.used_by) for slot in unused)
    first = f"{counted(count, 'scripted reply was', 'scripted replies were')} not used."
    asked = _arrived(calls, before=True) if calls else "arrived   nothing: no call reached the fake"

    def text(*, in_json: bool) -> str:
        return mask(f"{first}\n\n{_scripted(script, in_json=in_json)}\n{asked}\n\n")

    return UnusedReplies(Advice(text(in_json=False), text(in_json=True)), _ADVICE["unused"])


def forgotten(script: Script) -> list[str]:
    """Return a line about each `when` without a reply."""
    return [
        f"{queue.condition}{_at(queue.condition.line)} has no reply, so it does nothing. Write .script(...) or "
        ".always(...) behind it."
        for queue in script.whens
        if queue.condition is not None and not queue.was_filled
    ]


def _at(line: UserLine | None) -> str:
    return "" if line is None else f" at {line}"


def _arrived(calls: Sequence[Call], *, before: bool = False) -> str:
    """List the last calls, one per line.

    If `before` is true, the first lines say how many earlier calls are not listed.
    """
    rows = [call.asked if len(calls) == 1 else f"{call.number}. {call.asked}" for call in calls[-_ROWS:]]
    if before:
        rows = [*let_go(calls), *([f"and {len(calls) - _ROWS} more before these"] * (len(calls) > _ROWS)), *rows]
    return _column("arrived", [(row, "") for row in rows])


def let_go(calls: Sequence[Call]) -> list[str]:
    """Return a line about the calls that the fake has dropped; an empty list if it has kept all calls."""
    gone = calls[0].number - 1 if calls else 0
    if not gone:
        return []
    which = "call 1 was" if gone == 1 else f"calls 1 to {gone} were"
    return [f"{which} let go: the fake keeps the last {len(calls)} (keep_calls)"]


def _scripted(script: Script, call: Call | None = None, *, recordings: bool = True, in_json: bool = False) -> str:
    """List the replies of the script, one per line. Each line also shows which calls have used the reply."""
    described = describe(script, call, recordings=recordings, in_json=in_json)
    rows = [(f"{number}. {what}", state) for number, (what, state) in enumerate(described, 1)]
    if len(rows) > _ROWS:
        # In a long recording, the unused exchanges are more informative than the used ones. Therefore used ones are
        # listed only if none is unused.
        left = [row for row in rows if row[1].startswith(NOT_USED)]
        kept = (left or rows)[:_ROWS]
        rows = [*kept, (f"and {len(rows) - len(kept)} more", "")]
    return _column("scripted", rows or [("nothing", "")])


_EVENT: Final = re.compile(r"(?m)^( +[\d.]+ ms  .{157}).{4,}$")
"""Matches the line of an event with more than 160 characters. Only the first 157 characters are shown."""


def shortened(transcript: str) -> str:
    """Cut the long events of a transcript to 160 characters each."""
    return _EVENT.sub(r"\1...", transcript)


def transcript(calls: Sequence[Call]) -> str:
    """List every call with its request, its answer and each event with its time.

    Events are not shortened, because a shortened secret could no longer be recognised and masked.
    """
    lines = let_go(calls)
    for call in calls:
        lines.append(f"call {call.number}  {call.asked}")
        if call.tool_names:
            lines.append(f"    tools    {', '.join(call.tool_names)}")
        lines.append(f"    answer   {call}")
        fit = call.of(FitOfCall)
        if fit is not None and (used := fit.used(call)):
            lines.append(f"    uses     {', '.join(used)}")
        cache = call.of(CacheOfCall)
        lines += [f"    cache    {line}" for line in (cache.lines(call) if cache is not None else ())]
        for note in call.notes:
            lines.append(f"    note     {note.kind}: {note.text.partition(chr(10))[0]}")
        if call.answered.waited:
            lines.append(f"    waited   {call.answered.waited:.2f} s before the next attempt, skipped")
        for event, at in call.events:
            body = json.dumps(event, ensure_ascii=False, default=_as_json)
            lines.append(f"    {1000 * at:7.1f} ms  {body}")
    return mask("\n".join(lines))


def _as_json(value: object) -> str:
    """Return a text for a value that JSON does not have: the number of bytes, or a time as `str` writes it."""
    return f"<{counted(len(value), 'byte')}>" if isinstance(value, bytes) else str(value)


def _column(title: str, rows: Sequence[tuple[str, str]]) -> str:
    width = min(_WIDTH, max((len(what) for what, _ in rows), default=0))
    lines = [f"{what:<{width}}     {state}".rstrip() for what, state in rows]
    return "\n".join(f"{title if not number else '':<10}{line}" for number, line in enumerate(lines))
