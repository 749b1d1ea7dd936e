"""Cases of answers with a guardrail's result, and one case for every stop reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final, cast

from converse_harness import bedrock, reply
from converse_harness.bedrock import guardrails as rails
from converse_harness.cases.case import GUIDE, MODEL, RECORDED, Case
from converse_harness.cases.messages import ANSWER, USAGE
from converse_harness.cases.tools import TOOL
from converse_harness.literals import BlockingPolicy, GuardrailPolicy

_SHOW: Final = (
    "Show the guardrail's message as such, or fail; remove the blocked text from the history, or it is blocked again."
)
_SHOW_MASKED: Final = "Show the masked text, and keep the history."


GUARDRAIL_CASES: Final = (
    Case(
        "guardrail_input_blocked",
        "A guardrail blocks the user's text; the model is not called.",
        _SHOW,
        RECORDED,
        lambda: reply.guardrail_blocked(side="input"),
    ),
    Case(
        "guardrail_output_blocked",
        "A guardrail blocks the model's text.",
        _SHOW,
        GUIDE,
        lambda: reply.guardrail_blocked(side="output", original="Buy crypto, and borrow the money for it."),
    ),
    Case(
        "guardrail_blocked_late",
        "A guardrail in the asynchronous stream mode lets a text through and then blocks the rest.",
        "Remove the text that was already shown.",
        GUIDE,
        lambda: reply.guardrail_blocked(streamed="Buy crypto, and ", side="output"),
    ),
    Case(
        "guardrail_masked",
        "A guardrail masks personal data in the model's text.",
        _SHOW_MASKED,
        RECORDED,
        lambda: reply.guardrail_masked("Write to {EMAIL}.", original="Write to ada@example.com."),
    ),
    Case(
        "guardrail_input_masked",
        "A guardrail masks personal data in the user's text, before the model gets it.",
        "Show the answer, and keep the history.",
        GUIDE,
        lambda: reply.guardrail_masked(ANSWER, side="input"),
    ),
    Case(
        "guardrail_no_trace",
        "A guardrail blocks, and the trace is disabled: only the stop reason shows it.",
        _SHOW,
        GUIDE,
        lambda: reply.guardrail_blocked(trace=False),
    ),
    Case(
        "guardrail_without_detected",
        "A guardrail blocks, and its finding has no member `detected`, which is optional in AWS's API model.",
        _SHOW,
        "AWS's guide; reported by users (strands-agents/harness-sdk#3617)",
        lambda: reply.guardrail_blocked(side="input", omit_detected=True),
    ),
    Case(
        "guardrail_passed",
        "A guardrail finds nothing; the trace shows this.",
        "Show the answer, and keep the history.",
        RECORDED,
        lambda: reply.guardrail_passed(ANSWER),
    ),
)
"""Cases in which a guardrail blocks, masks or passes a text."""


def policy_cases() -> Iterator[Case]:
    """Yield one case per guardrail policy. If the policy can block, the guardrail blocks; otherwise it only reports."""
    for name, policy in rails.POLICIES.items():
        blocks = name in rails.able("BLOCKED")
        yield Case(
            f"guardrail_{name}",
            f"A guardrail {'blocks' if blocks else 'reports'} a finding of its policy {name} ({policy.member}).",
            _SHOW if blocks else "Show the answer; the finding is for the operator.",
            RECORDED if name == "topic" else GUIDE,
            partial(reply.guardrail_blocked, policy=cast("BlockingPolicy", name))
            if blocks
            else partial(reply.guardrail_passed, ANSWER, policy=cast("GuardrailPolicy", name)),
            (f"GuardrailAssessment.{policy.member}",),
        )


_STOPS: Final[Mapping[str, str]] = {
    "end_turn": "End the turn.",
    "tool_use": "Run the tool and send its result.",
    "max_tokens": "Report that the answer is cut off; do not treat it as whole.",
    "stop_sequence": "End the turn.",
    "guardrail_intervened": _SHOW,
    "content_filtered": "Report that the answer was filtered; do not treat it as whole.",
    "malformed_model_output": "Ask again, or fail; do not treat the answer as whole.",
    "malformed_tool_use": "Ask again, or fail; run no tool.",
    "model_context_window_exceeded": "Make the conversation shorter; do not treat the answer as whole.",
}
"""The required reaction of a consumer to each stop reason."""

_STOPS_RECORDED: Final = ("end_turn", "tool_use", "max_tokens", "guardrail_intervened")


def stop_cases() -> Iterator[Case]:
    """Yield one case per stop reason in the installed botocore."""
    for reason in bedrock.enum("StopReason"):
        yield Case(
            f"stop_{reason}",
            f"The answer ends with stop reason {reason}.",
            _STOPS.get(reason, "End the turn, and say why it ended."),
            RECORDED if reason in _STOPS_RECORDED else MODEL,
            partial(reply.tool_use, TOOL, {"city": "Zürich"})
            if reason == "tool_use"
            else partial(reply.message, {"text": ANSWER}, stop_reason=reason, strict=True),
        )


STOP_CASES: Final = (
    Case(
        "stop_unknown",
        "The answer ends with a stop reason that is not in AWS's API model.",
        "Keep the answer; never fail because a reason is unknown.",
        "what AWS's API allows itself: enums grow",
        lambda: reply.message({"text": ANSWER}, usage=USAGE, stop_reason="reason_of_the_future", strict=False),
    ),
)
