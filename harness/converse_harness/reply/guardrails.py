"""Functions that make replies which a guardrail has blocked, masked or let through, with the guardrail's trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from converse_harness import bedrock
from converse_harness.bedrock import guardrails as rails
from converse_harness.bedrock.api.checks import is_object
from converse_harness.bedrock.families import NEUTRAL, cut_text
from converse_harness.errors import Advice, Argument, ReplyError, quoted
from converse_harness.literals import BlockingPolicy, GuardrailPolicy, GuardrailSide, MaskingPolicy, StopReason
from converse_harness.reply.messages import message
from converse_harness.reply.reply import Reply
from converse_harness.stream.arguments import (
    Path,
    built_by,
    check_flag,
    check_optional_text,
    check_text,
    did_you_mean,
    texts,
    wrong,
)

_MADE_BY: Final = {"BLOCKED": "guardrail_blocked", "ANONYMIZED": "guardrail_masked", "NONE": "guardrail_passed"}
_MADE_FROM: Final[Mapping[Path, str]] = {
    ("pieces", 0): "pieces",
    ("trace", "guardrail", "modelOutput", 0): "original",
    ("trace",): "the trace",
}
"""The arguments from which the parts of the message are made."""

_SIDE: Final = {side: Advice(f"side={side!r}", f'"side": "{side}"') for side in rails.BOTH}
_DOES: Final = {"BLOCKED": "block", "ANONYMIZED": "mask"}
_NO_TOKENS: Final = {"inputTokens": 0, "outputTokens": 0}
_NO_USAGE: Final = {**_NO_TOKENS, "totalTokens": 0, "serverToolUsage": dict[str, object]()}
"""The usage of an answer whose input was blocked, as recorded in September 2026 (0xPlaygrounds/rig)."""


def guardrail_blocked(
    text: str = rails.BLOCKED_MESSAGE,
    *,
    policy: BlockingPolicy | Mapping[str, object] = "topic",
    side: GuardrailSide | None = None,
    original: str | None = None,
    streamed: str | None = None,
    trace: bool = True,
    omit_detected: bool = False,
    guardrail_id: str = rails.UNNAMED_GUARDRAIL,
    version: str = rails.VERSION,
    input_assessment: Mapping[str, object] | None = None,
    usage: Mapping[str, object] | None = None,
    metrics: Mapping[str, object] | None = None,
) -> Reply:
    """Answer with a guardrail's message instead of the model's text, and with the stop reason `guardrail_intervened`.

    `policy` is what the guardrail found: `topic`, `content`, `word`, `managed_word`, `pii`, `regex`, `grounding`, or a
    GuardrailAssessment, whose findings may omit `action` and `detected`. `side` is what was blocked: `input` (the
    default usage is then 0 tokens) or `output`; `grounding` checks only the output. `original` is the model's text,
    which the trace contains as `modelOutput`. `input_assessment` is the assessment of the input, if the output was
    blocked. `streamed` is the text that a guardrail in the async stream mode let through before it blocked the rest.
    This text and the message form one text block, on plain Converse as well. `trace=False` omits the trace, as if the
    request had disabled it. `omit_detected=True` omits the member `detected`, which is optional in AWS's API model. The
    trace names the guardrail of the request, unless `guardrail_id` is set. `usage` and `metrics` are as in
    `reply.message`. Raises ReplyError for an answer that no guardrail can give. Source: recordings of AWS for an input
    blocked by topic; AWS's API model and guide for other policies, for outputs and for the async stream mode.

    >>> blocked = guardrail_blocked("I do not talk about that.")
    >>> blocked.summary
    'text "I do not talk about that.", guardrail_intervened'
    """
    _check_said("guardrail_blocked", text)
    check_optional_text("guardrail_blocked", original=original, streamed=streamed)
    check_flag("guardrail_blocked", trace=trace, omit_detected=omit_detected)
    ours = original is not None or streamed is not None or input_assessment is not None
    side, assessment = _assess(policy, "BLOCKED", side, "output" if ours else None, detected=not omit_detected)
    if side == "input":
        if ours:
            raise ReplyError(
                Argument("guardrail_blocked", "side", value=side),
                " with ",
                Advice("original=, streamed= or input_assessment=", "original, streamed or input_assessment"),
                ": where the input is blocked the model writes nothing. Use ",
                _SIDE["output"],
                ", or leave them out.",
            )
        if usage is None:
            usage = _NO_USAGE
        elif is_object(usage):
            usage = {**_NO_TOKENS, **usage}
    if streamed == "":
        must = "what was let through before is not empty; leave it out."
        raise wrong("guardrail_blocked", "streamed", streamed, must)
    before = cut_text(streamed, NEUTRAL) if streamed else []
    told = _trace(side, assessment, original or (streamed or "") + text, guardrail_id, version, input_assessment)
    if original is not None:
        told["guardrail"]["modelOutput"] = [original]
    pieces = [*before, text]
    given = "streamed + text" if before else "text"
    return _answer("guardrail_blocked", "".join(pieces), pieces, told if trace else None, usage, metrics, given=given)


def guardrail_masked(
    text: str,
    *,
    original: str | None = None,
    policy: MaskingPolicy | Mapping[str, object] | None = None,
    side: GuardrailSide | None = None,
    pieces: Sequence[str] | None = None,
    trace: bool = True,
    omit_detected: bool = False,
    guardrail_id: str = rails.UNNAMED_GUARDRAIL,
    version: str = rails.VERSION,
    input_assessment: Mapping[str, object] | None = None,
    usage: Mapping[str, object] | None = None,
    metrics: Mapping[str, object] | None = None,
) -> Reply:
    """Answer with a text in which a guardrail masked its findings, and with the stop reason `guardrail_intervened`.

    `text` contains the masks in braces: a type of personal data, such as `{EMAIL}`, or the name of a regular
    expression. `original` is the text before masking: `text` with a value in place of each mask. By default, these
    values are invented. The findings are derived from `text` and `original`, unless `policy` is a GuardrailAssessment
    with findings. A GuardrailAssessment with only metrics adds these metrics. The policy `pii` or `regex` allows only
    masks of this kind. `side="input"` means that the user's text was masked: `text` is then any answer, and `policy` is
    what the guardrail found, by default `pii`. `pieces` are the exact deltas; the other parameters are as in
    `guardrail_blocked`. Raises ReplyError for an answer that no guardrail can give. Source: recordings of AWS, but not
    for a masked input. In the trace's `modelOutput`, a stream has the original text, but plain Converse has the model's
    own JSON: pass that JSON as `original` if it matters.

    >>> guardrail_masked("Write to {EMAIL}.", original="Write to ada@example.com.").summary
    'text "Write to {EMAIL}.", guardrail_intervened'
    """
    check_text("guardrail_masked", text=text)
    check_optional_text("guardrail_masked", original=original)
    check_flag("guardrail_masked", trace=trace, omit_detected=omit_detected)
    for name, value in (("text", text), ("original", original or "")):
        bedrock.check("String", value, root=name)  # before findings are made from them, which an error would name
    if side == "input":
        if original is not None:
            raise ReplyError(
                Argument("guardrail_masked", "original", value=original, beside="side='input'"),
                ": the masks are in what the user wrote, and a reply does not repeat that. Leave original out.",
            )
        side, assessment = _assess("pii" if policy is None else policy, "ANONYMIZED", side, detected=not omit_detected)
        told = _trace(side, assessment, text, guardrail_id, version, None)
    else:
        before = rails.unmasked(text) if original is None else original
        side, assessment = _assess(
            _masked(text, before, policy), "ANONYMIZED", side or "output", detected=not omit_detected
        )
        told = _trace(side, assessment, before, guardrail_id, version, input_assessment)
        told["guardrail"]["modelOutput"] = [before]
    return _answer("guardrail_masked", text, pieces, told if trace else None, usage, metrics)


def guardrail_passed(
    text: str,
    *,
    policy: GuardrailPolicy | Mapping[str, object] | None = None,
    side: GuardrailSide | None = None,
    pieces: Sequence[str] | None = None,
    guardrail_id: str = rails.UNNAMED_GUARDRAIL,
    version: str = rails.VERSION,
    input_assessment: Mapping[str, object] | None = None,
    usage: Mapping[str, object] | None = None,
    metrics: Mapping[str, object] | None = None,
) -> Reply:
    """Answer with a text that a guardrail let through, with the guardrail's trace and the stop reason `end_turn`.

    Without `policy`, the guardrail found nothing. With `policy`, the trace has findings with the action NONE, as a
    policy in detect mode has. The findings of `automated_reasoning` always have this action. `pieces` are the exact
    deltas; the other parameters are as in `guardrail_blocked`. Raises ReplyError, for instance for a finding with
    another action. Source: recordings of AWS for answers without findings; AWS's guide for findings with action NONE.

    >>> guardrail_passed("18 °C and sunny.").summary
    'text "18 °C and sunny."'
    """
    _check_said("guardrail_passed", text)
    side, assessment = _assess({} if policy is None else policy, "NONE", side or ("output" if policy is None else None))
    told = _trace(side, assessment, text, guardrail_id, version, input_assessment)
    return _answer("guardrail_passed", text, pieces, told, usage, metrics, "end_turn")


def _check_said(function: str, text: str) -> None:
    """Raise ReplyError if `text` is not a string, or if it is the name of a policy, which would be a mistake."""
    check_text(function, text=text)
    if text in rails.POLICIES:
        raise wrong(
            function,
            "text",
            text,
            "this is the name of a policy, and the first argument is the text of the answer. Write ",
            Advice(f'policy="{text}".', f'"policy": "{text}".'),
        )


def _answer(
    function: str,
    text: str,
    pieces: Sequence[str] | None,
    trace: Mapping[str, object] | None,
    usage: Mapping[str, object] | None,
    metrics: Mapping[str, object] | None,
    stop_reason: StopReason = "guardrail_intervened",
    given: str = "text",
) -> Reply:
    cut = None if pieces is None else {0: texts(function, "pieces", pieces)}
    with built_by(function, {**_MADE_FROM, ("content", 0, "text"): given}):
        return message({"text": text}, stop_reason=stop_reason, trace=trace, pieces=cut, usage=usage, metrics=metrics)


def _assess(
    policy: str | Mapping[str, object],
    action: str,
    side: GuardrailSide | None,
    usual: GuardrailSide | None = None,
    *,
    detected: bool = True,
) -> tuple[GuardrailSide, dict[str, Any]]:
    """Return `side` or its default, and the GuardrailAssessment for `policy`.

    The members `action` and `detected` are added to each finding that lacks them; `detected` is not added if the
    parameter `detected` is false. The default side is `usual`, if the policy checks this side; otherwise it is the
    first side that the policy checks. Raises ReplyError if `policy` cannot take `action`, or does not check `side`.
    """
    by = _MADE_BY[action]
    if side not in (None, *rails.BOTH):
        raise wrong(by, "side", side, "where a guardrail looks is 'input' or 'output'.")
    if isinstance(policy, str):
        if policy not in rails.POLICIES:
            near = did_you_mean(policy, rails.POLICIES)
            names = ", ".join(rails.POLICIES)
            must = f"this is no policy of guardrails{near} One of: {names}; or a GuardrailAssessment as a mapping."
            raise wrong(by, "policy", policy, must)
        known = rails.POLICIES[policy]
        assessment = rails.found(known)
        if action != "NONE" and action not in rails.actions(known):
            raise wrong(
                by,
                "policy",
                policy,
                f"it cannot {_DOES[action]}. Those that can: {', '.join(rails.able(action))}. What a guardrail only "
                "tells is ",
                Advice("reply.guardrail_passed(text, policy=...).", "guardrail_passed."),
            )
    elif isinstance(policy, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # user input
        assessment = dict(policy)
    else:
        raise wrong(by, "policy", policy, f"it must be one of {', '.join(rails.POLICIES)}, or a GuardrailAssessment.")
    assessment = _complete(assessment, action, "policy", detected=detected)
    happened = rails.done(assessment) - {"NONE"}
    if action == "NONE" and happened:
        raise ReplyError(
            Argument("guardrail_passed", "policy"),
            f" has a finding that is {', '.join(sorted(happened))}. Use ",
            Advice(
                "reply.guardrail_blocked or reply.guardrail_masked for it.", "guardrail_blocked or guardrail_masked."
            ),
        )
    if action != "NONE" and rails.REASONS[action] != rails.reason(assessment):
        raise ReplyError(
            Argument(name="policy", value=policy),
            f": what is done most gravely is {rails.reason(assessment)!r}, and this reply says "
            f"{rails.REASONS[action]!r} Give it a finding with action {action}.",
        )
    found = rails.policies_in(assessment)
    sides: list[GuardrailSide] = [each for each in rails.BOTH if all(each in rule.sides for rule in found)]
    chosen = side or (usual if usual in sides else sides[0])
    if chosen not in sides:
        raise ReplyError(
            Argument(name="policy", value=policy),
            f": it looks at the {sides[0]} alone, not at the {chosen}. Use ",
            _SIDE[sides[0]],
            ".",
        )
    return chosen, assessment


def _complete(assessment: Mapping[str, object], action: str, root: str, *, detected: bool = True) -> dict[str, Any]:
    """Return a copy of the assessment in which no finding lacks the member `action`.

    If the parameter `detected` is true, missing members `detected` are added to the findings, too. `root` is the name
    of the assessment in errors. Raises ReplyError if the assessment is not valid in AWS's API model.
    """
    try:
        whole = rails.complete(assessment, action, detected=detected)
    # The assessment is malformed, so `check` raises an error that names the wrong member.
    except (AttributeError, TypeError, ValueError):
        bedrock.check("GuardrailAssessment", assessment, root=root)
        raise
    bedrock.check("GuardrailAssessment", whole, root=root)
    return whole


def _policies_in(policy: Mapping[str, object]) -> list[rails.Policy]:
    try:
        return rails.policies_in(policy)
    except AttributeError:  # a member is not a dict, so `check` raises an error that names it
        bedrock.check("GuardrailAssessment", policy, root="policy")
        raise


def _masked(text: str, original: str, policy: str | Mapping[str, object] | None) -> str | Mapping[str, object]:
    """Return an assessment with a finding for each mask in `text`, and with the members of `policy`, such as metrics.

    If `policy` already has findings, or names a policy other than `pii` and `regex`, it is returned unchanged. Raises
    ReplyError if it is `pii` or `regex`, and `text` has a mask of the other kind.
    """
    if isinstance(policy, Mapping):
        if _policies_in(policy):
            return policy
        return {**rails.masked(rails.masks(text, original)), **policy}
    if policy not in (None, "pii", "regex"):
        return policy
    found = rails.masked(rails.masks(text, original))
    others = {"pii": "regexes", "regex": "piiEntities"}.get(policy or "")
    if others and found["sensitiveInformationPolicy"].get(others):
        names = [each.get("type") or each["name"] for each in found["sensitiveInformationPolicy"][others]]
        raise ReplyError(
            Argument(name="policy", value=policy),
            ", and ",
            quoted(text),
            f" has {', '.join(f'{{{name}}}' for name in names)}. Leave policy out, or "
            f"write only masks of {policy}. Personal data: {', '.join(bedrock.enum('GuardrailPiiEntityType'))}.",
        )
    return found


def _trace(
    side: str,
    assessment: Mapping[str, Any],
    written: str,
    guardrail_id: str,
    version: str,
    input_assessment: Mapping[str, object] | None,
) -> dict[str, Any]:
    """Return the ConverseTrace for the `assessment` of one `side`.

    If `side` is "output", `input_assessment` is the assessment of the input, by default without findings. If the input
    was blocked, the trace has no assessment of the output. `written` is the text whose length the trace reports.
    """
    bedrock.check("GuardrailIdentifier", guardrail_id, root="guardrail_id")
    bedrock.check("GuardrailVersion", version, root="version")
    details = rails.guardrail_details(guardrail_id, version)
    blocked = side == "input" and "BLOCKED" in rails.done(assessment)
    first = assessment if side == "input" else _complete(input_assessment or {}, "NONE", "input_assessment")
    second: Mapping[str, Any] = assessment if side == "output" else {}
    told = [first] if blocked else [first, second]
    characters = rails.INPUT_CHARACTERS
    asked = rails.measured(first, "input", characters, rails.units("input", characters, *told), details)
    guardrail: dict[str, Any] = {
        "actionReason": "\n".join(dict.fromkeys(map(rails.reason, told))),
        "inputAssessment": {details["guardrailId"]: asked},
    }
    if not blocked:
        characters = len(written)
        answered = rails.measured(second, "output", characters, rails.units("output", characters, *told), details)
        guardrail["outputAssessments"] = {details["guardrailId"]: [answered]}
    return {"guardrail": guardrail}
