"""pytest: mask secrets in the reports of tests during which a fake or a recording was open."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple, cast

import pytest

_SECTION: Final = "Masked by converse-harness"

CALLS: Final = "Bedrock Converse calls"
"""How the section with the transcript of a fake begins. Its events are whole until they are masked."""

_CUT: Final = re.compile(r"""[^\s"'<>()\[\]{},.]{8,}(?=\.\.\.)|(?<=\.\.\.)[^\s"'<>()\[\]{},]{8,}""")
"""What is left of a long word where pytest cut it. Nobody can find a secret in that which was encoded, or whose name is
gone: it is masked where the same report had one.
"""


class _Opened(NamedTuple):
    """The number of fakes opened in this process so far, and whether one is open."""

    times: int
    now: bool


def _opened() -> _Opened:
    module = sys.modules.get("converse_harness.intercept.fake")
    return _Opened(0, now=False) if module is None else _Opened(module.times_opened(), bool(module.open_fakes()))


class Masks:
    """The hooks that mask; one for each run.

    A report is masked when it is logged, after all other plugins have added to it; under xdist, in the worker.
    """

    def __init__(self) -> None:
        self._before = _opened()
        self._own: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        """Note the start of a test."""
        self._before = _opened()
        self._own.clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Mask the report of a test."""
        if self._was_open():
            masking = _Masking(self._own)
            masking.report(report)
            if masking.kinds:
                _Masking(masking.values, cut=True).report(report)
            if report.failed and masking.kinds:
                report.sections.append((_SECTION, f"*** stands for: {', '.join(masking.kinds)}"))

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: Any) -> None:
        """Mask a warning of the latest test."""
        if self._was_open():
            said = str(warning_message.message)
            masked = _Masking(self._own).text(said)
            if masked != said:
                warning_message.message = masked

    def _was_open(self) -> bool:
        return self._before.now or _opened().times > self._before.times


class _Masking:
    """Masks all parts of a failure report, and collects the secrets found and their kinds.

    `own` are known secrets, such as those of this process; `cut`: also mask the ends of secrets that were cut.
    """

    def __init__(self, own: set[str], *, cut: bool = False) -> None:
        self._cut = cut
        self.kinds: dict[str, None] = {}
        self.values: set[str] = set()
        self._own, self._asked = own, False
        """The secrets of this process, also those that the environment had in another phase of the test."""
        self._done: set[int] = set()

    def report(self, report: Any) -> None:
        """Mask a report in place."""
        from converse_harness.endpoint.failure_texts import shortened

        report.longrepr = self.value(report.longrepr)
        report.sections = [
            (name, shortened(self.text(text)) if name.startswith(CALLS) else self.text(text))
            for name, text in report.sections
        ]
        report.user_properties = [
            (name, self.named(name, value) if isinstance(value, str) else value)
            for name, value in report.user_properties
        ]
        if hasattr(report, "wasxfail"):
            report.wasxfail = self.text(report.wasxfail)
        if hasattr(report, "context"):  # of a subtest
            named = {name: self.named(name, value) for name, value in report.context.kwargs.items()}
            report.context = replace(report.context, msg=self.value(report.context.msg), kwargs=named)

    def text(self, text: str) -> str:
        if not text or text.isspace():
            return text
        from converse_harness.recordings.redaction import without_secrets
        from converse_harness.secrets import own_secrets

        if not self._asked:
            self._own |= own_secrets()
            self._asked = True
        made, kinds, values = without_secrets(text, self._own)
        self.kinds |= dict.fromkeys(kinds)
        self.values |= values
        return _CUT.sub("***", made) if self._cut else made

    def named(self, name: str, value: str) -> str:
        """Mask a value that only its name marks as a secret."""
        before = f"{name} = "
        made = self.text(before + value)
        return made.removeprefix(before) if made.startswith(before) else self.text(value)

    def value(self, value: Any) -> Any:
        """Mask a part of an exception's representation; its objects are changed in place."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return self._items(cast("list[Any]", value))
        if _is_shown(value) and id(value) not in self._done:
            self._done.add(id(value))
            attributes: dict[str, Any] = value.__dict__
            for name, item in attributes.items():
                setattr(value, name, self.value(item))
        return value

    def _items(self, items: list[Any] | tuple[Any, ...]) -> Any:
        texts = [item for item in items if isinstance(item, str)]
        if isinstance(items, list) and texts and len(texts) == len(items):
            return self._lines(texts)
        if isinstance(items, tuple) and len(texts) == len(items) == _PAIR:
            return texts[0], self.named(*texts)
        return [*map(self.value, items)] if isinstance(items, list) else tuple(map(self.value, items))

    def _lines(self, lines: list[str]) -> list[str]:
        """Mask lines together, because a secret may continue on the next line."""
        if all(line.endswith("\n") for line in lines):
            return self.text("".join(lines)).splitlines(keepends=True)
        return self.text("\n".join(lines)).split("\n")


_PAIR: Final = 2


def _is_shown(value: Any) -> bool:
    """Whether an object is one of those from which pytest builds a failure's text."""
    show: Callable[..., object] | None = getattr(value, "toterminal", None)
    return show is not None and hasattr(value, "__dict__")
