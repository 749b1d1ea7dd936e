"""Import public names when they are first used, and call a function as soon as a module is imported.

An ImportHook lives as long as the process. All objects to which this module refers live equally long. Therefore this
module does not import `typing` and `re` at its top, and pytest does not rewrite its assertions (PYTEST_DONT_REWRITE):
otherwise the interpreter would take 3 ms longer to exit.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, Final


class ImportHook:
    """While this hook is in `sys.meta_path`, it calls `imported(module)` after the import of each of the `modules`."""

    def __init__(self, modules: Container[str], imported: Callable[[ModuleType], object]) -> None:
        self._modules = modules
        self._imported = imported

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec from the later finders, with its loader wrapped in a `_Loader`.

        Return None for all modules except `modules`.
        """
        if fullname not in self._modules:
            return None
        finders = list(sys.meta_path)
        if self in finders:  # use only the later finders: otherwise two hooks would call each other for ever
            finders = finders[finders.index(self) + 1 :]
        for finder in finders:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    # `_Loader` is no subclass of importlib.abc.Loader, because importing importlib.abc is slow.
                    loader: Any = _Loader(spec.loader, self._imported)
                    spec.loader = loader
                return spec
        return None


class _Loader:
    """Runs the real loader and then the hook's function. The module keeps the real loader as its `__loader__`."""

    def __init__(self, real: Any, imported: Callable[[ModuleType], object]) -> None:
        self._real = real
        self._imported = imported

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._real.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._real
        if module.__spec__ is not None:
            module.__spec__.loader = self._real
        self._real.exec_module(module)
        self._imported(module)


def no_such_name(module: str, name: str, known: Callable[[], Iterable[str]]) -> AttributeError:
    """Make the error for a name that a module does not have; the text suggests the most similar names.

    >>> no_such_name("faults", "resett", lambda: ["reset", "stall"]).args[0]
    "module 'faults' has no attribute 'resett'; did you mean 'reset'?"
    """
    near: list[str] = []
    if not name.startswith("_"):  # tools look up special names everywhere; searching for similar ones takes time
        from difflib import get_close_matches

        near = get_close_matches(name, known(), n=3)
    meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{meant}")


_LINE: Final = r"(?m)^from (\S+) import (\w+) as \2$"
"""Matches an import in a stub file. It is compiled when the first name is loaded, because importing `re` takes time."""


def lazily(package: dict[str, Any]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` for the package with these globals.

    `__getattr__` imports the names in the package's stub; it also returns `__all__`. The stub has a line
    `from module import name as name` for each name. If the name is that of a submodule, `module` is the package itself.
    """
    from functools import cache
    from importlib import import_module

    own: str = package["__name__"]

    @cache
    def homes() -> dict[str, str]:
        import re

        with open(f"{package['__path__'][0]}/__init__.pyi", encoding="utf-8") as stub:
            return {name: module for module, name in re.findall(_LINE, stub.read())}

    def names() -> list[str]:
        return sorted(homes())

    def load(name: str) -> Any:
        if name == "__all__":
            return names()
        if name not in homes():
            raise no_such_name(own, name, names)
        home = homes()[name]
        value = import_module(f"{own}.{name}") if home == own else getattr(import_module(home), name)
        package[name] = value
        return value

    return load, names
