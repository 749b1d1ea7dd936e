"""Load public names at first use, and run hooks as soon as a module is imported.

A hook lives as long as the process, and so does everything that this module refers to. If that included `typing`, `re`
or pytest's rewriting of assertions (hence PYTEST_DONT_REWRITE), the interpreter would take 3 ms longer to end.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, Final


class ImportHook:
    """Calls `imported` with each of these modules after its import, while the hook is in `sys.meta_path`."""

    def __init__(self, modules: Container[str], imported: Callable[[ModuleType], object]) -> None:
        self._modules = modules
        self._imported = imported

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of the other finders, with our loader around theirs."""
        if fullname not in self._modules:
            return None
        finders = list(sys.meta_path)
        if self in finders:  # earlier finders were asked already; two hooks that ask each other would never end
            finders = finders[finders.index(self) + 1 :]
        for finder in finders:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    loader: Any = _Loader(spec.loader, self._imported)  # importlib.abc would be slow to load
                    spec.loader = loader
                return spec
        return None


class _Loader:
    """Runs the real loader, which the module keeps as its own, and then the hook."""

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


_LINE: Final = r"(?m)^from (\S+) import (\w+) as \2$"
"""Compiled when first used."""


def lazily(package: dict[str, Any]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make a package's `__getattr__` (which also serves `__all__`) and `__dir__`; `package` is its globals.

    Each name has a line `from module import name as name` in the stub; for a submodule, `module` is the package.
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
            raise AttributeError(f"module {own!r} has no attribute {name!r}")
        home = homes()[name]
        value = import_module(f"{own}.{name}") if home == own else getattr(import_module(home), name)
        package[name] = value
        return value

    return load, names
