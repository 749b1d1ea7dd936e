"""Answers that name their sources, as Bedrock sends them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from converse_harness import model
from converse_harness.errors import ReplyError
from converse_harness.replies import Reply
from converse_harness.reply.plain import message


def cited(
    *parts: str | Mapping[str, object],
    stop_reason: str = "end_turn",
    usage: Mapping[str, object] | None = None,
    pieces: Mapping[int, Sequence[str]] | None = None,
) -> Reply:
    """Answer with texts in order, each followed by the Citations that it leans on, as AWS Citation mappings.

    Each text is a block of its own: a plain one, or a citationsContent with its citations, which a stream sends before
    the text. Citations that no text or an empty one precedes make a block of citations only, as Nova's web grounding
    sends it. `citing` writes the Citations; `usage` (TokenUsage) and `pieces` (the exact deltas of the texts, by the
    index of their block) are those of `message`. Raises ReplyError. Source: recorded answers of Claude and Nova.

    >>> from converse_harness import citing
    >>> forecast = {"name": "forecast", "source": {"text": "Zürich: 18 °C, sunny."}}
    >>> cited("It is ", "18 °C", citing(forecast, "18 °C"), " today.").summary
    'text "It is " + citationsContent + text " today."'
    """
    if not parts:
        raise ReplyError("cited() has nothing to say. Give texts, and after each the Citations that it leans on.")
    texts: list[tuple[str, list[Mapping[str, object]]]] = []
    for place, part in enumerate(parts):
        if isinstance(part, str):
            texts.append((part, []))
        elif isinstance(part, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # user input
            model.check("Citation", part, root=f"cited: parts[{place}]")
            if not texts:
                texts.append(("", []))
            texts[-1][1].append(part)
        else:
            raise ReplyError(
                f"cited: parts[{place}] is {part!r}; a part is a text or a Citation of the AWS API, each an argument "
                "of its own."
            )
    content = [_block(text, citations) for text, citations in texts]
    return message(*content, stop_reason=stop_reason, usage=usage, pieces=pieces)


def _block(text: str, citations: list[Mapping[str, object]]) -> dict[str, Any]:
    if not citations:
        return {"text": text}
    generated = {"content": [{"text": text}]} if text else {}
    return {"citationsContent": {**generated, "citations": citations}}
