"""The fixtures `converse_...` that give sample values, and those that run a test once per variant.

They are made from the table of samples when pytest starts; values and AWS's model come when a test asks for them. The
fixtures have the scope of the session, so that fixtures of any scope and tests with `@given` can ask for them; and yet
each test gets values of its own, since what a fixture keeps is made anew before each test.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from inspect import Parameter, Signature
from typing import Any, Final

import pytest

from converse_harness.samples import variants
from converse_harness.samples.table import SAMPLES, VARIANTS, SampleRow

_SCOPES: Final = ("session", "package", "module", "class", "function")
"""pytest's scopes, the widest first."""


def parametrize(
    metafunc: pytest.Metafunc, fixture: str, names: Callable[[], Iterable[str]], ours: Collection[object]
) -> None:
    """Parametrize a test with the names that the fixture accepts; `ours` are the functions of our fixtures.

    Nothing happens where the user has a parameter or a fixture of the same name. Values are made when tests run.
    """
    if not _has_parameter(metafunc, fixture) and _leads_to(metafunc, fixture, ours):
        metafunc.parametrize(fixture, list(names()), indirect=True, scope=_scope(metafunc, fixture))


def _has_parameter(metafunc: pytest.Metafunc, fixture: str) -> bool:
    """Whether a marker parametrizes this name."""
    for mark in metafunc.definition.iter_markers("parametrize"):
        names: str | Sequence[str] = mark.args[0] if mark.args else mark.kwargs.get("argnames", ())
        if fixture in ([each.strip() for each in names.split(",")] if isinstance(names, str) else names):
            return True
    return False


def _leads_to(metafunc: pytest.Metafunc, fixture: str, ours: Collection[object]) -> bool:
    """Whether the test gets our fixture, directly or through an override that requests it."""
    definitions = reversed(_definitions(metafunc).get(fixture, ()))
    last = next((each for each in definitions if fixture not in each.argnames), None)
    return last is not None and last.func in ours


def _scope(metafunc: pytest.Metafunc, fixture: str) -> Any:
    """The scope of a value: that of the widest fixture that requests it, otherwise one test.

    Never the session, although the variant fixtures have this scope: pytest would reorder the tests of all modules by
    variant.
    """
    asking = [
        definition.scope
        for definitions in _definitions(metafunc).values()
        for definition in definitions
        if fixture in definition.argnames
    ]
    return min([*asking, "function"], key=_SCOPES.index)


def _definitions(metafunc: pytest.Metafunc) -> Mapping[str, Sequence[pytest.FixtureDef[Any]]]:
    found: Mapping[str, Sequence[pytest.FixtureDef[Any]]] = vars(metafunc)["_arg2fixturedefs"]  # not public
    return found


_FIXTURES: Final[dict[object, str | None]] = {}
"""The functions of our fixtures; those of variants with their names in the table."""

_ASKED_FIXTURES: Final = pytest.StashKey["list[pytest.FixtureDef[Any]]"]()
"""Those of our fixtures that have been asked for, on the session's config."""

_NOT_COLLECTED: Final = """\
`{fixture}` was asked for while the test was running already.
It runs a test once for each variant, so it must be an argument of the test, or of a fixture that is one.
The values alone: converse_harness.samples.variants({name!r})"""

_SESSION: Final = pytest.fixture(scope="session")
_PLAIN: Final = Signature()
_REQUEST: Final = Signature([Parameter("request", Parameter.POSITIONAL_OR_KEYWORD)])


def _sample_fixture(key: str, row: SampleRow) -> Any:
    def give() -> Any:
        from converse_harness.samples import sample

        return sample(key)

    _FIXTURES[give] = None
    return _fixture(give, row, _PLAIN)


def _variants_fixture(name: str, row: SampleRow) -> Any:
    def give(request: pytest.FixtureRequest) -> Any:
        if not hasattr(request, "param"):
            pytest.fail(_NOT_COLLECTED.format(fixture=row.fixture, name=name), pytrace=False)
        return _variant(name, request.param)

    _FIXTURES[give] = name
    return _fixture(give, row, _REQUEST)


def _fixture(give: Callable[..., Any], row: SampleRow, signature: Signature) -> Any:
    # pytest inspects every fixture's signature at start; a ready-made one saves this time.
    vars(give).update(__signature__=signature)
    give.__doc__ = row.doc
    give.__name__ = row.fixture
    return _SESSION(give)


def _variant(name: str, path: object) -> Any:
    known = variants(name)
    if path not in known:
        fixture = VARIANTS[name].fixture
        pytest.fail(f"`{fixture}` has no variant {path!r}. Its variants: {', '.join(known)}.", pytrace=False)
    return known[str(path)]


globals().update({row.fixture: _sample_fixture(key, row) for key, row in SAMPLES.items()})
globals().update({row.fixture: _variants_fixture(name, row) for name, row in VARIANTS.items()})


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test once per variant if it, or one of its fixtures, asks for that."""
    for name, row in VARIANTS.items():
        if row.fixture in metafunc.fixturenames:
            parametrize(metafunc, row.fixture, partial(variants, name), _FIXTURES)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> None:
    """Remember which of our fixtures have a value."""
    if fixturedef.func in _FIXTURES:
        kept = request.config.stash.setdefault(_ASKED_FIXTURES, [])
        if fixturedef not in kept:
            kept.append(fixturedef)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Renew each value that an earlier test may have changed."""
    for definition in item.config.stash.get(_ASKED_FIXTURES, ()):
        if definition.cached_result is not None and definition.cached_result[2] is None:
            _, path, no_error = definition.cached_result
            name = _FIXTURES[definition.func]
            value = definition.func() if name is None else _variant(name, path)
            definition.cached_result = (value, path, no_error)
