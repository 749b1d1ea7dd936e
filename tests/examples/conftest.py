"""How an interactive example is run, in a page or in a docstring."""

import doctest
import re
from collections.abc import Callable

import pytest

# A page shows `ReplyError: ...`; Python writes the module before the name, and "Traceback" above it.
_EXCEPTION = re.compile(r"\A(?:\w+\.)*(?=[A-Z]\w*(?::|$))")


class _Checker(doctest.OutputChecker):
    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, got, optionflags) or super().check_output(
            _EXCEPTION.sub("", want, count=1), _EXCEPTION.sub("", got, count=1), optionflags
        )


@pytest.fixture(scope="session")
def run_doctest() -> Callable[[doctest.DocTest], None]:
    """Run one DocTest and fail with doctest's own report."""

    def run(test: doctest.DocTest) -> None:
        for example in test.examples:
            if example.exc_msg is None and _EXCEPTION.match(example.want):
                example.exc_msg = example.want
        report: list[str] = []
        runner = doctest.DocTestRunner(checker=_Checker(), optionflags=doctest.ELLIPSIS)
        runner.run(test, out=report.append, clear_globs=False)
        if report:
            pytest.fail("".join(report), pytrace=False)

    return run
