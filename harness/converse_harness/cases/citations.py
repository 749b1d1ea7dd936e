"""Cases of answers that name their sources: one for each member of AWS's CitationLocation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from converse_harness import reply
from converse_harness.bedrock.citations import citing, locations
from converse_harness.cases.case import MODEL, RECORDED, Case, Made, snake
from converse_harness.cases.messages import ANSWER

FORECAST: Final = "Zürich: 18 °C, sunny. Bern: 16 °C, rain."
_TEXT: Final[Mapping[str, Any]] = {"name": "forecast", "format": "txt", "source": {"text": FORECAST}}


@dataclass(frozen=True, slots=True)
class Cited:
    """A source of the request, what is cited of it, and what it is in words."""

    source: Mapping[str, Any] | str
    words: str
    known: str
    where: Mapping[str, Any] = field(default_factory=dict[str, Any])
    quote: str | None = None

    def citation(self) -> dict[str, Any]:
        """The AWS Citation."""
        return citing(self.source, self.quote, **self.where)


CITED: Final[Mapping[str, Cited]] = {
    "documentChar": Cited(_TEXT, "characters of a document", RECORDED, quote="18 °C, sunny"),
    "documentPage": Cited(
        {"name": "forecast", "format": "pdf", "source": {"bytes": b"%PDF-1.7"}},
        "pages of a document",
        RECORDED,
        {"pages": 2},
        "18 °C, sunny",
    ),
    "documentChunk": Cited(
        {"name": "forecast", "source": {"content": [{"text": FORECAST}]}},
        "chunks of a document",
        RECORDED,
        quote="18 °C, sunny",
    ),
    "searchResultLocation": Cited(
        {"source": "https://example.com/forecast", "title": "Forecast", "content": [{"text": FORECAST}]},
        "blocks of a search result",
        MODEL,
        quote="18 °C, sunny",
    ),
    "web": Cited("https://example.com/forecast", "a page of the web", RECORDED),
}
"""What is cited in the case of each location."""

_KEEP: Final = "Keep each citation with the text that follows it in its block, or leave all out; the text stays."


def _cite(kind: str) -> Made:
    return reply.cited("It is ", "18 °C and sunny", CITED[kind].citation(), " in Zürich.")


def citation_cases() -> Iterator[Case]:
    """One for each location that the installed botocore has; and several at once."""
    yield Case(
        "citation_document",
        "A text leans on a passage of a document; the citation comes before its text, as AWS sends it.",
        _KEEP,
        RECORDED,
        lambda: reply.cited("18 °C and sunny in Zürich.", CITED["documentChar"].citation()),
    )
    yield Case(
        "citation_several",
        "A text leans on two passages, and a later one on a third.",
        _KEEP,
        MODEL,
        lambda: reply.cited(
            "It is 18 °C in Zürich and 16 °C in Bern",
            citing(_TEXT, "18 °C"),
            citing(_TEXT, "16 °C"),
            ", ",
            "with rain",
            citing(_TEXT, "rain"),
            " in Bern.",
        ),
    )
    yield Case(
        "citation_without_text",
        "A block has citations and no text, as Nova's web grounding sends it.",
        "Keep the citations with the text before them, or leave them out.",
        "recorded answers of Nova, with pages of the web",
        lambda: reply.message(
            {"text": ANSWER}, {"citationsContent": {"citations": [CITED["documentChar"].citation()]}}
        ),
    )
    for kind in locations():
        if kind in CITED:
            yield Case(
                f"citation_{snake(kind)}",
                f"A text leans on {CITED[kind].words} ({kind}).",
                _KEEP,
                CITED[kind].known,
                partial(_cite, kind),
            )
