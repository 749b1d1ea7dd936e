"""How a test is run once per value of a fixture, as pytest does for its own fixtures with `params`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pytest

SCOPES: Final = ("session", "package", "module", "class", "function")
"""pytest's scopes, the widest first."""


def parametrize(
    metafunc: pytest.Metafunc, fixture: str, names: Callable[[], Iterable[str]], ours: Collection[object]
) -> None:
    """Run a test once for each of the names that the fixture can be given; `ours` are the functions of our fixtures.

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
    """Whether the test gets our fixture, perhaps through one of the same name that asks for it."""
    definitions = reversed(_definitions(metafunc).get(fixture, ()))
    last = next((each for each in definitions if fixture not in each.argnames), None)
    return last is not None and last.func in ours


def _scope(metafunc: pytest.Metafunc, fixture: str) -> Any:
    """How long a value stays: as long as the widest fixture that asks for it, else for one test.

    Not for the session, though the fixtures of variants have that scope: pytest would sort the tests of all modules by
    variant.
    """
    asking = [
        definition.scope
        for definitions in _definitions(metafunc).values()
        for definition in definitions
        if fixture in definition.argnames
    ]
    return min([*asking, "function"], key=SCOPES.index)


def _definitions(metafunc: pytest.Metafunc) -> Mapping[str, Sequence[pytest.FixtureDef[Any]]]:
    found: Mapping[str, Sequence[pytest.FixtureDef[Any]]] = vars(metafunc)["_arg2fixturedefs"]  # not public
    return found
