"""Mask secrets in the ids of parametrized tests, before pytest makes the names of the tests from these ids.

A name is printed by pytest, by xdist and by other plugins, is kept in pytest's cache, in junit.xml and in
PYTEST_CURRENT_TEST, and names recordings and folders. So the secret must never become a part of a name: to mask it in
each of these places would miss some of them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from importlib.util import resolve_name
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from converse_harness.plugin.settings import MARKER

if TYPE_CHECKING:
    from converse_harness.secrets.removal import Cleaned

_NAMES_US: Final = re.compile(r"\bconverse_(?:harness|strategies)\b|[\"']converse(?:_\w+)?[\"']")
"""Matches the import of this package in a source file, and the name of a fixture in `getfixturevalue("converse")`."""

_FILES: Final = pytest.StashKey["_Files"]()
"""The key under which the stash of the pytest config holds what is known of the project's source files."""


def mask_ids(metafunc: pytest.Metafunc, calls: list[Any]) -> None:
    """Replace secrets in the ids of a test's parameter sets, if the test may open a fake. `calls` is changed in place.

    All sets of a test are known here, whatever `-k` or the command line deselects later. So the first set whose masked
    id is `***` keeps this id, and the next one gets `***-2`, in every run and in every worker of xdist. A number and
    not a hash of the secret makes the ids unique: a hash would confirm a guess of a short password, and a machine with
    another token would not find the recording.
    """
    if not _may_open_fake(metafunc, calls):
        return
    # These modules are imported only now, because their import takes longer than the start of the plugin.
    from converse_harness.secrets.process import SHORTEST, own_secrets

    if all(len(call.id) < SHORTEST for call in calls):
        return
    from converse_harness.secrets.removal import without_secrets

    own = own_secrets()
    if not any(_has_secret(text, own) for call in calls for text in (call.id, *_named(call))):
        return
    # pytest has no public way to change an id after parametrize().
    if not all(hasattr(call, "_idlist") for call in calls):
        raise pytest.UsageError(
            f"{metafunc.definition.name}: a parameter's id has a secret, and converse-harness cannot mask it with "
            f'pytest {pytest.__version__}. Give the parameter a name of its own: pytest.param(..., id="admin").'
        )
    masked = [_masked(call, own, without_secrets) for call in calls]
    taken = {call.id for call, parts in zip(calls, masked, strict=True) if parts == [*call._idlist]}
    for at, (call, parts) in enumerate(zip(calls, masked, strict=True)):
        if parts != [*call._idlist]:
            unique, count = parts, 1
            while "-".join(unique) in taken:
                count += 1
                unique = [*parts, str(count)]
            taken.add("-".join(unique))
            calls[at] = replace(call, _idlist=unique)


@lru_cache(maxsize=65_536)  # tests that have the same parameters repeat ids and values
def _has_secret(text: str, own: frozenset[str]) -> bool:
    """Whether a text contains a secret. Most ids contain none.

    To search all ids of a test as one text was tried: the time grows with the square of the number of lines.
    """
    from converse_harness.secrets.removal import without_secrets

    return bool(without_secrets(text, own).kinds)


def _masked(call: Any, own: frozenset[str], without_secrets: Callable[[str, frozenset[str]], Cleaned]) -> list[str]:
    """Return the parts of an id without secrets."""
    # A secret may be known only by the name of its parameter. pytest may have added a digit to it to make an id unique,
    # and then the secret may not be recognised in the id, but its value is in `values`.
    own = own.union(*(without_secrets(text, own).values for text in _named(call)))
    # The parts are masked one by one, because a token is often followed by any letters, digits and hyphens: in the
    # whole id it would include the parameters after it.
    parts = [without_secrets(part, own).text for part in call._idlist]
    whole = "-".join(parts)
    clean = without_secrets(whole, own).text
    return parts if clean == whole else [clean]


def _named(call: Any) -> Iterator[str]:
    """Yield the parameters of a set as `name = value`, in the form in which a failure shows them."""
    for name, value in call.params.items():
        text = value.decode("latin-1") if isinstance(value, bytes) else value
        # A value that is longer than the id is not in the id: the set has an id of its own.
        if isinstance(text, str) and len(text) <= len(call.id):
            yield f"{name} = {text}"


def _may_open_fake(metafunc: pytest.Metafunc, calls: Sequence[Any]) -> bool:
    """Whether a test may open a fake or a recording, as far as this can be told before the test runs.

    The other tests are left alone: their users select them by these ids, and no promise is made for their output.
    """
    if any(name.startswith("converse") for name in metafunc.fixturenames):
        return True
    marks = [*metafunc.definition.iter_markers(), *(mark for call in calls for mark in call.marks)]
    if any(mark.name in ("converse", MARKER) for mark in marks):
        return True
    fixtures: Any = getattr(metafunc, "_arg2fixturedefs", {})  # not public in pytest
    module: Any = getattr(metafunc, "module", None)
    cls: Any = getattr(metafunc, "cls", None) or object
    sources: list[Any] = [metafunc.function, *cls.__mro__]
    sources += [each.func for several in fixtures.values() for each in several]
    names = [str(getattr(module, "__name__", "")), *(str(getattr(each, "__module__", "")) for each in sources)]
    files = metafunc.config.stash.setdefault(_FILES, _Files(metafunc.config.rootpath))
    return any(map(files.name_us, dict.fromkeys(names)))


class _Files:
    """The source files of the modules of a project, and which of them may open a fake."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._found: dict[str, bool] = {}
        """Maps a module to whether its file, or that of a module of the project that it imports, names this package."""
        self._read: dict[str, tuple[bool, frozenset[str]]] = {}
        """Maps a module to whether its own file names this package, and to the modules that it imports."""

    def name_us(self, name: str) -> bool:
        """Whether the file of a module, or of a module of the project that it imports, names this package."""
        if name not in self._found:
            todo, seen = [name], {name}
            while todo:
                named, imported = self._of(todo.pop(), always=len(seen) == 1)
                if named or any(self._found.get(each) for each in imported):
                    self._found[name] = True
                    return True
                new = {each for each in imported - seen if each not in self._found}
                seen |= new
                todo += new
            # All that these modules import was searched. A module outside of the project may be a test's own one later.
            self._found |= dict.fromkeys(seen & self._read.keys() | {name}, False)
        return self._found[name]

    def _of(self, name: str, *, always: bool) -> tuple[bool, frozenset[str]]:
        """Return whether a module's own file names this package, and which modules it imports.

        Modules outside of the project are not read, except for the module of the test itself (`always`).
        """
        if name not in self._read:
            module = sys.modules.get(name)
            file = Path(getattr(module, "__file__", None) or "")
            is_own = always or (file.is_relative_to(self._root) and "site-packages" not in file.parts)
            if module is None or file.suffix != ".py" or not is_own:
                return False, frozenset()
            try:
                text = file.read_text(encoding="utf-8", errors="replace")
            except OSError:
                return True, frozenset()  # a file that cannot be read may open a fake
            package = getattr(module, "__package__", None) or ""
            self._read[name] = _NAMES_US.search(text) is not None, frozenset(_imported(text, package))
        return self._read[name]


_IMPORT: Final = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]+)|import[ \t]+([^\n#]+))", re.MULTILINE
)


def _imported(text: str, package: str) -> Iterator[str]:
    """Yield the names of all modules that a source file of a package may import, and other names.

    The text is read and not the values of the module, because a value such as a list does not tell where it is from.
    """
    for source, names, modules in _IMPORT.findall(text):
        if source:
            with suppress(ImportError):  # a relative import outside of a package
                base = resolve_name(source, package)
                yield base
                yield from (f"{base}.{each}" for each in re.findall(r"\w+", names))
        else:
            yield from re.findall(r"[\w.]+", modules)
