"""The sample fixtures and the parametrization of tests: a test runs once for each variant of a sample, or each case.

The plugin loads this module when a test requests such a fixture. Sample values and AWS's API model are loaded when the
test runs. The sample fixtures have session scope, so that fixtures of any scope and tests with `@given` can request
them. Each test still gets its own values, because the cached value of each fixture is renewed before each test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from converse_harness import samples
from converse_harness.plugin.settings import MARKER, refuse_inside_given
from converse_harness.samples.table import SAMPLES, VARIANTS, SampleRow

if TYPE_CHECKING:
    from converse_harness.cases import Case
    from converse_harness.intercept.fake import Fake

# Support for tests that run once for each case or variant.

_CASE: Final = "converse_each_case"

_NOT_COLLECTED: Final = """\
`{fixture}` was asked for while the test was running already.
It runs a test once for each {one}, so it must be an argument of the test, or of a fixture that is one.
The {values} alone: {where}"""

_NOT_INDIRECT: Final = f"""\
`{_CASE}` is parametrized with names of cases, which would reach the test as texts.
Add `indirect=True`: @pytest.mark.parametrize("{_CASE}", ["throttle_mid"], indirect=True)"""

_SCOPES: Final = ("session", "package", "module", "class", "function")
"""pytest's scopes, the widest first."""

_OURS: Final = (__package__, __name__)
"""The names of the modules that define the fixtures of converse-harness."""


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Run a test once for each case or variant, if the test or one of its fixtures requests a fixture in `_NAMES`.

    A parameter or a fixture of the user with the same name takes precedence.
    """
    _check_indirect(metafunc)
    for fixture, names in _NAMES.items():
        if fixture in metafunc.fixturenames and not _has_parameter(metafunc, fixture) and _is_ours(metafunc, fixture):
            metafunc.parametrize(fixture, [*names()], indirect=True, scope=_scope(metafunc, fixture))


def _has_parameter(metafunc: pytest.Metafunc, fixture: str) -> bool:
    """Whether a marker `parametrize` of the test has an argument with the name `fixture`."""
    for mark in metafunc.definition.iter_markers("parametrize"):
        names: str | Sequence[str] = mark.args[0] if mark.args else mark.kwargs.get("argnames", ())
        if fixture in ([each.strip() for each in names.split(",")] if isinstance(names, str) else names):
            return True
    return False


def _check_indirect(metafunc: pytest.Metafunc) -> None:
    """Fail the collection if a marker `parametrize` with names of cases lacks `indirect=True`.

    Without it, the test would get the names in place of the cases.
    """
    for mark in metafunc.definition.iter_markers("parametrize"):
        given: tuple[Any, ...] = (*mark.args, (), ())
        argument, values, *_ = given
        if argument == _CASE and not mark.kwargs.get("indirect") and any(isinstance(each, str) for each in values):
            pytest.fail(_NOT_INDIRECT, pytrace=False)


def _is_ours(metafunc: pytest.Metafunc, fixture: str) -> bool:
    """Whether the test gets the package's fixture, directly or through a user's fixture of the same name."""
    definitions = reversed(_definitions(metafunc).get(fixture, ()))
    last = next((each for each in definitions if fixture not in each.argnames), None)
    return last is not None and last.func.__module__ in _OURS


def _scope(metafunc: pytest.Metafunc, fixture: str) -> Any:
    """Return the scope for the parameter `fixture`: the widest scope of the fixtures that request it, or "function".

    The session scope of the variant fixtures themselves is not used, because then pytest would group the tests of all
    modules by variant.
    """
    definitions = chain.from_iterable(_definitions(metafunc).values())
    scopes = [each.scope for each in definitions if fixture in each.argnames]
    return min([*scopes, "function"], key=_SCOPES.index)


def _definitions(metafunc: pytest.Metafunc) -> Mapping[str, Sequence[pytest.FixtureDef[Any]]]:
    found: Mapping[str, Sequence[pytest.FixtureDef[Any]]] = vars(metafunc)["_arg2fixturedefs"]  # not public in pytest
    return found


# The fixture `converse_each_case`, which returns a case of the catalogue.

_ONLY_STREAMS: Final = """\
{name}: only a stream can be so, and all that was called is Converse, which answers with one whole body."""

_TRANSPORTS: Final = ("converse", "converse_httpx", "converse_server")

_WHICH_FAKE: Final = """\
`converse_each_case` adds the replies of a case to the fake of `converse`, or of `converse_httpx`;
the test uses {names}. Use one of these two alone, or add the replies yourself:

    from converse_harness.cases import CASES

    @pytest.mark.parametrize("case", CASES.values(), ids=CASES)
    def test_it(case, {last}):
        {opened}(*case.replies, ...)   More: converse-harness docs trouble all-of-it-the-catalogue"""

_RUNNING: Final = pytest.StashKey["tuple[Case, Fake]"]()
"""The key under which the stash of a test item holds the test's case and the fake that sends the case's replies."""


def give_case(request: pytest.FixtureRequest) -> Case:
    """Add the replies of a test's case to the fake of the transport that the test uses, and return the case."""
    from converse_harness.cases import CASES, UnknownCase

    _check_collected(request, _CASE, one="case", values="cases", where="converse_harness.cases.CASES")
    refuse_inside_given(request.node, _CASE)
    try:
        case = CASES[request.param]
    except UnknownCase as error:
        raise pytest.fail.Exception(f"`{_CASE}`: {error}", pytrace=False) from None
    used = [name for name in _TRANSPORTS if name in request.fixturenames] or ["converse"]
    if len(used) > 1 or used == ["converse_server"]:
        opened = "with converse_server.script" if used[-1] == "converse_server" else f"{used[-1]}.script"
        pytest.fail(_WHICH_FAKE.format(names=" and ".join(used), last=used[-1], opened=opened), pytrace=False)
    fake: Fake = request.getfixturevalue(used[0])
    _script(fake, case)
    request.node.stash[_RUNNING] = case, fake
    return case


def _check_collected(request: pytest.FixtureRequest, fixture: str, **texts: str) -> None:
    if not hasattr(request, "param"):
        pytest.fail(_NOT_COLLECTED.format(fixture=fixture, **texts), pytrace=False)


def _script(fake: Fake, case: Case) -> None:
    """Add the replies of a case to a fake. The first reply must be used; the others may remain unused."""
    from converse_harness import reply

    first, *rest = [answer.times(1) for answer in case.replies for _ in range(answer.uses)]
    scripted = fake.when(operation="ConverseStream") if case.stream_only else fake
    scripted.script(first)
    left, fine = iter(rest), reply.text("OK.")
    fake.always((lambda call: next(left, fine)) if rest else fine)


def checks(item: pytest.Item, error: BaseException | None) -> Iterable[Callable[[BaseException | None], None]]:
    """Return the check of the case of a test, which may skip the test. It follows all other checks."""
    if _RUNNING in item.stash:
        yield partial(_skip_where_only_streams, *item.stash[_RUNNING])


def _skip_where_only_streams(case: Case, fake: Fake, error: BaseException | None) -> None:
    """Skip a test that called only Converse although its case needs a stream, if nothing else is wrong with it."""
    called = {call.operation for call in fake.calls}
    if "Converse" in called and "ConverseStream" not in called and case.stream_only:
        from converse_harness.errors import UnusedReplies

        if isinstance(error, UnusedReplies | None):
            pytest.skip(_ONLY_STREAMS.format(name=case.name))


def _cases() -> Iterable[str]:
    from converse_harness.cases import CASES

    return CASES


# The sample fixtures: each returns one sample value, or runs a test once for each variant of a value.

_FIXTURES: Final[dict[object, str | None]] = {}
"""Maps each sample fixture's function to its name in VARIANTS, or to None if the fixture returns a single sample."""

_REQUESTED: Final = pytest.StashKey["list[pytest.FixtureDef[Any]]"]()
"""The key under which the stash of the pytest config holds the sample fixtures that tests have requested."""


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> None:
    """Remember each sample fixture that is set up, because `pytest_runtest_setup` renews its value."""
    if fixturedef.func in _FIXTURES:
        requested = request.config.stash.setdefault(_REQUESTED, [])
        if fixturedef not in requested:
            requested.append(fixturedef)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Renew the cached values of the sample fixtures, because an earlier test may have changed the values."""
    for fixture in item.config.stash.get(_REQUESTED, ()):
        if fixture.cached_result is not None and fixture.cached_result[2] is None:
            _, path, no_error = fixture.cached_result
            name = _FIXTURES[fixture.func]
            fixture.cached_result = (fixture.func() if name is None else _variant(name, path)), path, no_error


def _fixture(name: str, row: SampleRow, *, has_variants: bool) -> Any:
    def sample() -> Any:
        return samples.sample(name)

    def variant(request: pytest.FixtureRequest) -> Any:
        where = f"converse_harness.samples.variants({name!r})"
        _check_collected(request, row.fixture, one="variant", values="values", where=where)
        return _variant(name, request.param)

    function: Callable[..., Any] = variant if has_variants else sample
    function.__doc__, function.__name__ = row.doc, row.fixture
    _FIXTURES[function] = name if has_variants else None
    return pytest.fixture(scope="session")(function)


def _variant(name: str, path: object) -> Any:
    known = samples.variants(name)
    if path not in known:
        fixture = VARIANTS[name].fixture
        pytest.fail(f"`{fixture}` has no variant {path!r}. Its variants: {', '.join(known)}.", pytrace=False)
    return known[str(path)]


globals().update({row.fixture: _fixture(name, row, has_variants=False) for name, row in SAMPLES.items()})
globals().update({row.fixture: _fixture(name, row, has_variants=True) for name, row in VARIANTS.items()})

_NAMES: Final[Mapping[str, Callable[[], Iterable[str]]]] = {
    _CASE: _cases,
    **{row.fixture: partial(samples.variants, name) for name, row in VARIANTS.items()},
}
"""Maps each fixture that runs a test several times to a function that returns the parameters of the fixture."""

# Support for pytest-run-parallel, which runs a test in several threads at once.

_SHARED: Final = frozenset({"converse", "converse_client", "converse_httpx"})
_FUNCTIONS: Final = frozenset({"fake_converse", "record"})
_PACKAGE: Final = str(Path(__file__).resolve().parents[1])

_REASON: Final = (
    "uses a fake of converse-harness that answers every thread of the process, so that threads would take each other's "
    "replies; one for each thread opens with converse_server.script(...)"
)


def in_one_thread(items: Iterable[pytest.Item]) -> None:
    """Mark tests whose fake serves the whole process as `thread_unsafe`: pytest-run-parallel runs them in 1 thread."""
    for item in items:
        used = _SHARED & {*getattr(item, "fixturenames", ())}
        if used or item.get_closest_marker(MARKER) or _opens_one(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.thread_unsafe(reason=_REASON))


def _opens_one(function: Any) -> bool:
    """Whether a test function, or a function that it wraps, names a function that opens a fake for the whole process.

    Functions of this package that wrap a test count as well.
    """
    code = getattr(function, "__code__", None)
    if code is not None and (_FUNCTIONS & {*code.co_names} or code.co_filename.startswith(_PACKAGE)):
        return True
    return function is not None and _opens_one(getattr(function, "__wrapped__", None))
