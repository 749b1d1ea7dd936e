"""Ask the requests of recordings again, and print what has drifted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from converse_harness.features.drift.asking import AskedAnswer, ask_again, recorded_exchanges
from converse_harness.recordings.format.exchanges import RecordedExchange
from converse_harness.recordings.redaction import Redaction
from converse_harness.server.http.upstream import Upstream
from converse_harness.words import counted


class Asking(NamedTuple):
    """A request to ask again: its recording, the name of the recording in the report, and its exchange."""

    path: Path
    name: str
    exchange: RecordedExchange


def requests_of(paths: Sequence[Path], name: Callable[[Path], str] = str) -> list[Asking]:
    """Return the requests of recordings; `name` returns the name of a recording in the report.

    Raises DamagedRecording, and OSError for a file that cannot be read.
    """
    return [Asking(path, name(path), exchange) for path in paths for exchange in recorded_exchanges(path)]


class DriftReport:
    """What has drifted in answers to recorded requests.

    `drifted` is whether a form or the keys of a usage have changed. `unknown` is whether a request that could be asked
    got no answer to compare.
    """

    def __init__(self, upstream: Callable[[], Upstream], redaction: Redaction) -> None:
        self._upstream = upstream
        self._service: Upstream | None = None
        self._redaction = redaction
        self._lost = ""
        self._counts: Counter[str] = Counter()

    def ask(self, asking: Asking) -> list[str]:
        """Ask one request again, and return the lines about it; none if only its content differs, or nothing.

        If the service could not be reached before, nothing more is asked.
        """
        path, name, exchange = asking
        if self._lost:
            self._counts["not reached"] += 1
            return []
        if self._service is None:
            self._service = self._upstream()
        answered = ask_again(self._service, exchange, path.parent, self._redaction)
        self._lost = answered.failed if answered.lost else ""
        return [*self._lines(f"{name} call {exchange.call['call']}", answered)]

    def _lines(self, name: str, answered: AskedAnswer) -> Iterator[str]:
        title = f"{name}  {answered.exchange.operation} {answered.exchange.model_id}".rstrip()
        drift = answered.drift
        if drift is None:
            self._counts["skipped" if answered.skipped else "failed"] += 1
            yield f"{title}  {'not asked' if answered.skipped else 'no answer'}: {answered.skipped or answered.failed}"
            return
        found = {"form": drift.form, "usage": (*drift.usage_keys, *drift.usage)}
        seen = {
            "answered": True,
            "drifted": bool(drift),
            "form": bool(drift.form),
            "usage": bool(drift.usage_keys),
            "content": drift.content,
        }
        self._counts.update(name for name, is_so in seen.items() if is_so)
        if any(found.values()):
            yield title
            yield from (f"  {group:7}{text}" for group, texts in found.items() for text in texts)

    def summary(self) -> Iterator[str]:
        """Yield the lines about the whole: how many answers have drifted, and which requests have no answer."""
        counts = self._counts
        groups = [f"{counts[each]} in {each}" for each in ("form", "usage") if counts[each]]
        if not counts["answered"]:
            yield "No answer was compared."
        elif groups:
            has = "has" if counts["drifted"] == 1 else "have"
            yield f"{counts['drifted']} of {counted(counts['answered'], 'answer')} {has} drifted: {', '.join(groups)}."
        else:
            yield f"No drift in {counted(counts['answered'], 'answer')}."
        if counts["content"]:
            yield f"The content of {counted(counts['content'], 'answer')} differs, as it may."
        if counts["skipped"]:
            yield f"Not asked: {counted(counts['skipped'], 'request')}."
        if counts["failed"]:
            more = f", and {counts['not reached']} after it were not asked" if counts["not reached"] else ""
            yield f"No answer to {counted(counts['failed'], 'request')}{more}: whether these have drifted is not known."

    @property
    def drifted(self) -> bool:
        """Whether a form or the keys of a usage have changed."""
        return self._counts["drifted"] > 0

    @property
    def unknown(self) -> bool:
        """Whether nothing was compared, or a request that could be asked has no answer."""
        return not self._counts["answered"] or self._counts["failed"] > 0
