"""The fixture `converse_each_case`: a test is run once for each case of the catalogue.

The catalogue is read when a test asks for it, not when pytest starts.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from converse_harness.cases import Case
    from converse_harness.endpoint.call import Call
    from converse_harness.intercept.fake import Fake
    from converse_harness.reply.reply import Reply

_FIXTURE: Final = "converse_each_case"

_NOT_COLLECTED: Final = """\
`converse_each_case` was asked for while the test was running already.
It runs a test once for each case, so it must be an argument of the test, or of a fixture that is one.
The cases alone: converse_harness.cases.CASES"""

_ONLY_STREAMS: Final = """\
{name}: only a stream can be so, and all that was called is Converse, which answers with one whole body."""

_RUNNING: Final = pytest.StashKey["tuple[Case, Fake]"]()
"""The case of a test and the fake that answers with it, on the test item."""


def _give_each_case(request: pytest.FixtureRequest) -> Case:
    """A named trouble: the test runs once for each case of the catalogue, and the fake answers with it.

    The case's replies come first, then "OK." for whatever else is asked; `-k overflow` picks cases by name, and
    `@pytest.mark.parametrize("converse_each_case", ["throttle_mid"], indirect=True)` names some. The value is the
    Case: `name`, `sentence`, `required`. The fake is that of the fixture `converse`. A test that asks for no answer
    fails; one that calls Converse alone is skipped where only a stream can be so. `converse-harness cases` lists them.
    """
    if not hasattr(request, "param"):
        pytest.fail(_NOT_COLLECTED, pytrace=False)
    from converse_harness.plugin.settings import refuse_inside_given

    refuse_inside_given(request.node, _FIXTURE)
    case = _find(request.param)
    fake: Fake = request.getfixturevalue("converse")
    _script(fake, case)
    request.node.stash[_RUNNING] = case, fake
    return case


def _find(name: str) -> Case:
    from converse_harness.cases import CASES, UnknownCase

    try:
        return CASES[name]
    except UnknownCase as error:
        unknown = str(error)
    pytest.fail(f"`{_FIXTURE}`: {unknown}", pytrace=False)


converse_each_case: Final = pytest.fixture(name=_FIXTURE)(_give_each_case)


def _script(fake: Fake, case: Case) -> None:
    """Script the case: its first reply must be used, the following ones only if the consumer asks again."""
    from converse_harness import reply

    first, *rest = [answer.times(1) for answer in case.replies for _ in range(answer.uses)]
    if case.stream_only:
        fake.when(operation="ConverseStream").script(first)
    else:
        fake.script(first)
    fine = reply.text("OK.")
    fake.always(_one_by_one(rest, fine) if rest else fine)


def _one_by_one(replies: Iterable[Reply], last: Reply) -> Callable[[Call], Reply]:
    left = iter(replies)

    def what_follows(call: Call) -> Reply:
        return next(left, last)

    return what_follows


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize a test with the cases if it, or one of its fixtures, uses `converse_each_case`."""
    if _FIXTURE in metafunc.fixturenames:
        from converse_harness.cases import CASES
        from converse_harness.plugin.samples import parametrize

        parametrize(metafunc, _FIXTURE, lambda: CASES, [_give_each_case])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Skip a test that cannot meet its case because it never requested a stream."""
    __tracebackhide__ = True
    try:
        result = yield
    except Exception as error:
        from converse_harness.errors import UnusedReplies

        if isinstance(error, UnusedReplies):
            _skip_where_only_streams(item)
        raise
    _skip_where_only_streams(item)
    return result


def _skip_where_only_streams(item: pytest.Item) -> None:
    case, fake = item.stash.get(_RUNNING, (None, None))
    if case is None or fake is None:
        return
    asked = {call.operation for call in fake.calls}
    if "Converse" in asked and "ConverseStream" not in asked and case.stream_only:
        pytest.skip(_ONLY_STREAMS.format(name=case.name))
