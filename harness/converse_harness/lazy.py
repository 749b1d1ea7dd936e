"""Packages whose public names are loaded when they are first used: the `__init__.pyi` is the only list of them."""

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final

_LINE: Final = r"(?m)^from (\S+) import (\w+) as \2$"
"""Compiled with the first name."""


def lazily(package: dict[str, Any]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__`, which knows `__all__` too, and the `__dir__` of a package; `package` is its globals.

    Each name is a line of the stub, `from module import name as name`; the module of a submodule is the package.
    """
    own: str = package["__name__"]

    @cache
    def homes() -> dict[str, str]:
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
