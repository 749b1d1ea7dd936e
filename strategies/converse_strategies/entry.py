"""Hypothesis' entry point: `st.from_type` draws Reply, Response, Call, and the types of `converse_harness.types`.

It also draws the TypedDicts of strands-agents that have the same names.

Hypothesis calls `register` in every process that imports hypothesis. So `register` imports neither the classes nor
their strategies: a class is registered when its module is imported, and its strategy is loaded at the first draw.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from converse_harness.imports import ImportHook

if TYPE_CHECKING:
    from types import ModuleType

    from hypothesis.strategies import SearchStrategy

_TYPES: Final = "converse_harness.types."
_TABLE: Final = "converse_strategies.strands.table"
_SUBJECTS: Final = (
    "citations",
    "content",
    "event_loop",
    "exceptions",
    "guardrails",
    "media",
    "memory",
    "session",
    "streaming",
    "tools",
)
_STRANDS: Final = "strands.types."
_SUBJECTS_OF_STRANDS: Final = ("citations", "content", "event_loop", "guardrails", "media", "streaming", "tools")
"""The modules of strands-agents whose TypedDicts have the same names and values as those in `converse_harness.types`.
"""

_OTHERS: Final[Mapping[str, tuple[str, str, str]]] = {
    "converse_harness.stream.assemble": ("Response", "requests", "responses"),
    "converse_harness.endpoint.call": ("Call", "requests", "calls"),
    "converse_harness.reply.reply": ("Reply", "requests", "replies"),
}
"""Module -> the name of its class; the module of this package, and its function, that make the strategy for this class.
"""

_MODULES: Final = frozenset(
    {
        *(f"{_TYPES}{subject}" for subject in _SUBJECTS),
        *(f"{_STRANDS}{subject}" for subject in _SUBJECTS_OF_STRANDS),
        *_OTHERS,
    }
)
"""The modules whose classes are registered with `st.from_type`."""


def register() -> None:
    """Register the strategy of every class with hypothesis, now or as soon as the module of the class is imported.

    Hypothesis calls this function; further calls change nothing.
    """
    if _HOOK not in sys.meta_path:
        sys.meta_path.insert(0, _HOOK)
    for name in _MODULES & sys.modules.keys():
        _register_classes(sys.modules[name])


def _register_classes(module: ModuleType) -> None:
    from hypothesis import strategies as st

    for name, strategy in _strategies(module).items():
        st.register_type_strategy(getattr(module, name), strategy)


def _strategies(module: ModuleType) -> dict[str, Callable[[Any], SearchStrategy[Any]]]:
    """Return a dict: name of a class in `module` -> the function that makes the strategy for this class."""
    if module.__name__ in _OTHERS:
        name, place, function = _OTHERS[module.__name__]
        # Another thread may still be importing the module; then the class does not exist yet.
        return {name: _late(name, f"converse_strategies.{place}", function)} if name in vars(module) else {}
    if module.__name__.startswith(_STRANDS):
        return _strategies_of_strands(module)
    subject = module.__name__.removeprefix(_TYPES)
    return {
        name: _late(f"{subject}.{name}", _TABLE, "TABLE")
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    }


def _strategies_of_strands(module: ModuleType) -> dict[str, Callable[[Any], SearchStrategy[Any]]]:
    """Return a dict: name of a TypedDict in `module`, a module of strands-agents -> the function that makes its
    strategy.

    It contains only the TypedDicts that also exist in the module of the same name in `converse_harness.types`.
    """
    subject = module.__name__.removeprefix(_STRANDS)
    ours = vars(import_module(f"{_TYPES}{subject}"))
    return {
        name: _late(f"{subject}.{name}", _TABLE, "TABLE")
        for name, value in vars(module).items()
        if hasattr(value, "__required_keys__") and value.__module__ == module.__name__ and name in ours
    }


def _late(key: str, place: str, name: str) -> Callable[[Any], SearchStrategy[Any]]:
    """Return a function that makes a strategy. This strategy imports the module `place` only at its first draw.

    Then it draws from another strategy: if `name` is "TABLE", from that of the entry `key` of the table in `place`,
    otherwise from that of the function `name` in `place`.
    """

    def load(_: object) -> SearchStrategy[Any]:
        found = getattr(import_module(place), name)
        strategy: SearchStrategy[Any] = (found[key] if name == "TABLE" else found)()
        return strategy

    # The command `hypothesis write` copies the repr of a strategy as code if the repr is valid Python. This name makes
    # the repr invalid, so that the command writes st.from_type(...), which is correct.
    load.__name__ = f"<{key}>"

    def make(_: object) -> SearchStrategy[Any]:
        from hypothesis import strategies as st

        return st.none().flatmap(load)

    return make


_HOOK: Final = ImportHook(_MODULES, _register_classes)
