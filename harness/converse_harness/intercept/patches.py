"""Replace attributes of other libraries while a fake is open, and restore them.

A table of `Point`s lists the attributes. `Patches` replaces or restores all attributes of its table together. All
points are checked before the first attribute is replaced. If a library is incompatible, nothing is patched, and the
error names the library and its version. An import hook patches libraries that are imported later; it is in
`sys.meta_path` only while the patches are active.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, wraps
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from types import FunctionType, ModuleType
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from converse_harness.errors import TransportError
from converse_harness.imports import ImportHook

_MISSING: Any = object()
ANY = ("...",)
"""A parameter list that accepts any parameters. It is for functions written in C, which may have no signature."""
_SEARCHED = 100
"""At most this number of functions and closures is searched to decide whether one function wraps another."""


@dataclass(frozen=True, eq=False)
class Point:
    """One attribute of another library that is replaced, or only checked.

    `parameters` are the exact names of the function's parameters; "..." at the end allows further ones. `parameters` is
    None if the attribute is a module. `replace` is the name of the function of this package that takes the original and
    returns our replacement; None if the point is only checked. `mentions` are names that the function's code must use.
    `eager`: the module is imported when a fake for boto clients opens. `since` names an attribute of the module or of a
    class in it; if a release, a system or a class of another tool lacks it, the point is skipped. `optional`: the point
    is skipped if the class itself does not define the attribute. While a cassette is in use, vcrpy replaces a class by
    such a subclass. `reads` describes the hosts that the guard finds in a call's arguments.
    """

    module: str
    attribute: str
    parameters: tuple[str, ...] | None
    replace: str | None
    mentions: tuple[str, ...] = ()
    eager: bool = False
    since: str | None = None
    optional: bool = False
    reads: str = ""

    @cached_property
    def path(self) -> tuple[str, ...]:
        """The names between the module and the attribute: a class name, or no name for an attribute of the module."""
        return tuple(self.attribute.split(".")[:-1])

    @cached_property
    def name(self) -> str:
        """The last part of the attribute's dotted name."""
        return self.attribute.rpartition(".")[2]

    def __str__(self) -> str:
        return f"{self.module}.{self.attribute}"


@dataclass(slots=True)
class _Record:
    """One installed replacement. The record is also kept while a wrapper by another tool hides the replacement.

    `holder` is the class or module with the attribute. `added`: the holder inherits the original from a base class.
    Then deleting the replacement restores the original.
    """

    holder: Any
    original: Any
    replacement: Any
    added: bool


def replacement(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Decorator: make a function that takes the original of a patched attribute and returns its replacement.

    A call of the replacement calls the decorated `function` with the original, followed by the arguments of the call.
    """

    def replace(original: Any) -> Any:
        @wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            return function(original, *args, **kwargs)

        return call

    return replace


def function_named(name: str) -> Callable[[Any], Any]:
    """Import and return a function of this package; `name` is "module.function"."""
    module, _, function = name.rpartition(".")
    return cast("Callable[[Any], Any]", getattr(importlib.import_module(f"{__package__}.{module}"), function))


class Patches:
    """Replaces the attributes of all points in a table, or restores the original attributes."""

    def __init__(self, points: Sequence[Point]) -> None:
        self._points = tuple(points)
        self._modules = frozenset(point.module for point in points)
        self._eager = frozenset(point.module for point in points if point.eager)
        self._records: dict[Point, _Record] = {}
        self._made: dict[Point, tuple[Any, Any]] = {}
        """Maps each point to the attribute that was checked last, and to its replacement."""
        self._ours: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        """Maps every replacement that was ever installed to its original.

        Another tool may later reinstall a replacement that had been removed.
        """
        self._seen: frozenset[str] = frozenset()
        """The modules of the points that were already imported when `put_in` ran last; empty after `take_out`."""
        self._importing = ImportHook(self._modules, self.imported)

    def ready(self, *, eager: bool = True) -> None:
        """Prepare patching: import the modules of eager points.

        If another thread is just importing a module with points, wait until this import has ended. With `eager=False`,
        no further module is imported. Raises TransportError if an import fails.
        """
        if self._importing not in sys.meta_path:
            sys.meta_path.insert(0, self._importing)
        wanted = self._eager if eager else frozenset[str]()
        for name in (wanted | (self._modules & sys.modules.keys())) - self._seen:
            spec = getattr(sys.modules.get(name), "__spec__", None)
            if name not in sys.modules or getattr(spec, "_initializing", False):
                try:
                    importlib.import_module(name)
                except ImportError as error:
                    raise _mismatch(name, f"{type(error).__name__}: {error}") from error

    def put_in(self) -> None:
        """Patch all points of the modules that are imported. Points that are already patched are not changed.

        Raises TransportError if a library is incompatible.
        """
        if self._seen and self._are_in():
            return
        if self._importing not in sys.meta_path:
            sys.meta_path.insert(0, self._importing)
        imported = self._modules & sys.modules.keys()
        self._replace_all([point for point in self._points if point.module in imported])
        self._seen = imported

    def _are_in(self) -> bool:
        """Whether every replacement is still in place, and no other module with points was imported since `put_in`.

        For speed, this method calls no other function of ours: every test with a fake runs it.
        """
        modules = sys.modules
        for name in self._modules:
            if name in modules and name not in self._seen:
                return False
        for point, record in tuple(self._records.items()):  # a copy: an import in another thread may add records
            holder: Any = modules.get(point.module)
            for step in point.path:
                holder = getattr(holder, step, None)
            if holder is not record.holder or holder.__dict__.get(point.name) is not record.replacement:
                return False
        return True

    def take_out(self) -> None:
        """Restore every attribute that still has our replacement."""
        self._seen = frozenset()
        while self._importing in sys.meta_path:
            sys.meta_path.remove(self._importing)
        for point in tuple(self._records):
            self._give_back(point)

    def imported(self, module: ModuleType) -> None:
        """Patch the points of a module that was just imported. A TransportError makes the import fail."""
        there = [point for point in self._points if point.module == module.__name__]
        self._replace_all(there)
        if self._importing not in sys.meta_path:
            # Another thread closed the last fake during the import.
            for point in there:
                self._give_back(point)

    def _replace_all(self, points: Sequence[Point]) -> None:
        """Check all of these points, then replace their attributes. If a check fails, raise TransportError and replace
        no attribute.
        """
        for point, (holder, found) in [(point, self._check(point)) for point in points]:
            if holder is not None and point.replace is not None:
                self._replace(point, holder, found)

    def _check(self, point: Point) -> tuple[Any, Any]:
        """Check a point. Return the class or module that has the attribute, and the attribute.

        Both are None if the point is skipped. Raises TransportError if the attribute is not as expected.
        """
        holder = _holder(point)
        found = None if holder is None else _found(holder, point.name)
        if found is _MISSING:
            raise _mismatch(point, "nothing of that name", by=holder)
        record = self._records.get(point)
        checked, _ = self._made.get(point, (_MISSING, None))
        if holder is None or found is checked or (record and found is record.replacement):
            return holder, found
        if point.parameters is not None:
            _check_function(point, found)
        elif not isinstance(found, ModuleType):
            raise _mismatch(point, f"{found!r}", by=found)
        self._made[point] = found, point.replace and function_named(point.replace)(_as_function(found))
        return holder, found

    def _replace(self, point: Point, holder: Any, found: Any) -> None:
        record = self._records.get(point)
        if record is not None and record.holder is not holder:
            # Other code has replaced the class or module, or the module was imported again.
            self._give_back(point)
            self._records.pop(point, None)
            record = None
        if record is not None and found is not record.original:
            if _reaches(found, record.replacement):
                return
            # Other code restored the original, or put an unrelated object in its place.
            del self._records[point]
        _, replacement = self._made[point]
        if found in self._ours:
            # Another tool reinstalled our replacement, which it had saved as the original.
            found, replacement = self._ours[found], found
        # Two threads may run this code at the same time. Both must use the record that was stored first.
        made = _Record(holder, found, replacement, added=point.name not in vars(holder))
        record = self._records.setdefault(point, made)
        self._ours[record.replacement] = found
        setattr(holder, point.name, record.replacement)

    def _give_back(self, point: Point) -> None:
        record = self._records.get(point)
        if record is None:
            return
        name = point.name
        found = _found(record.holder, name)
        while found is not record.replacement and found in self._ours:
            found = self._ours[found]
            setattr(record.holder, name, found)
        if found is record.replacement and record.added:
            delattr(record.holder, name)
        elif found is record.replacement:
            setattr(record.holder, name, record.original)
        if found is record.replacement or found is record.original:
            self._records.pop(point, None)
        # Otherwise other code has wrapped our replacement. Both remain; the replacement now only calls the original.


def _holder(point: Point) -> Any:
    """Return the module or class that has the attribute; None if the point is skipped (see `since` and `optional`)."""
    holder: Any = sys.modules[point.module]
    if point.since is not None and not _has(holder, point.since):
        return None
    for step in point.path:
        inner = getattr(holder, step, _MISSING)
        if inner is _MISSING:
            raise _mismatch(point, f"no {step!r}", by=holder)
        holder = inner
    return None if point.optional and point.name not in vars(holder) else holder


_getter: Final = cache(attrgetter)  # to make one takes longer than to use it


def _has(module: Any, attribute: str) -> bool:
    try:
        _getter(attribute)(module)
    except AttributeError:
        return False
    return True


def _found(holder: Any, name: str) -> Any:
    """Return the attribute of the holder or of its base classes; `_MISSING` if none of them has it."""
    bases = holder.__mro__[:-1] if isinstance(holder, type) else (holder,)  # without the attributes of `object`
    for base in bases:
        own = cast("Mapping[str, Any]", vars(base))
        if name in own:
            return own[name]
    return _MISSING


def _check_function(point: Point, found: Any) -> None:
    if point.parameters == ANY and callable(found):
        return
    parameters: Mapping[str, inspect.Parameter] = inspect.signature(found).parameters if callable(found) else {}
    named = tuple(parameters)
    # Other code may have wrapped the function. A wrapper with `*args` and `**kwargs` is accepted, because it hides the
    # original parameters.
    anything = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    expected = point.parameters or ()
    fits = set(expected[:-1]) <= set(named) if expected[-1:] == ANY else expected == named
    if not fits and not anything <= {parameter.kind for parameter in parameters.values()}:
        raise _mismatch(point, f"({', '.join(named)})", by=found)
    names: tuple[str, ...] = getattr(getattr(inspect.unwrap(found), "__code__", None), "co_names", ())
    missing = [name for name in point.mentions if name not in names]
    if missing:
        mentions = f"one that mentions {', '.join(names)}"
        raise _mismatch(point, mentions, f"code that mentions {', '.join(missing)}", by=found)


def _mismatch(where: Point | str, found: str, expected: str = "", *, by: Any = None) -> TransportError:
    """Return the error for a library that is not as expected; `by` is the object that shows it.

    If `by` is of another library, then this library has replaced what was expected, and the error names it.
    """
    library = str(where).partition(".")[0]
    parameters = None if isinstance(where, str) else where.parameters
    expected = expected or ("a module" if parameters is None else f"({', '.join(parameters)})")
    what = f"{where}: expected {expected}, found {found}. Nothing was patched."
    known = "Python" if library in sys.stdlib_module_names else library
    if other := _other_module(by, library):
        replacer = other.partition(".")[0]
        name, release = _with_version(replacer), f", or install another release of {replacer} or of converse-harness"
        if name == replacer:  # a module of the project that is tested, for instance
            name, release = f"the module {other}", ""
        return TransportError(
            f"cannot open a fake: {name} has replaced a part of {_with_version(library)} by something that is not as "
            f"expected. {what} Let it do that after the fake is open{release}"
        )
    return TransportError(
        f"cannot open a fake: {_with_version(library)} is not as expected. {what} Install a release of {known} that "
        "this converse-harness knows, or a newer converse-harness; if another library replaced that attribute, start "
        "it after the fake is open; `converse-harness doctor` names it"
    )


def _with_version(library: str) -> str:
    """Return a library's name and version; its name alone if no package of that name is installed."""
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:
        return f"Python {sys.version.partition(' ')[0]}" if library in sys.stdlib_module_names else library


def _other_module(found: Any, library: str) -> str:
    """Return the module of a function or class, if it is neither Python's nor of `library` or this package; or ""."""
    inner = inspect.unwrap(found) if callable(found) else found
    name = getattr(inner, "__module__", None)
    package = name.partition(".")[0] if isinstance(name, str) else ""
    own = (library, __name__.partition(".")[0], *sys.stdlib_module_names)
    return name if isinstance(name, str) and package not in own else ""


def _reaches(function: Any, target: Any) -> bool:
    """Whether `function` wraps `target` at any depth: through attributes, closures or partials."""
    found = [function]
    for item in found:  # the list grows during the loop
        if item is target:
            return True
        if len(found) < _SEARCHED:
            found += [each for each in _below(item) if all(each is not other for other in found)]
    return False


def _as_function(found: Any) -> Any:
    """Return `found`; but if it is a function proxy of the library wrapt, return a plain function that calls the proxy.

    The plain function first binds the proxy to the instance, because wrapt's wrappers get the instance only then.
    """
    kind = cast("type[object]", type(found))
    if kind is FunctionType or not isinstance(found, FunctionType):
        return found
    binding: Any = found

    @wraps(found)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return binding.__get__(self, type(self))(*args, **kwargs)

    return call


def _below(item: Any) -> list[Any]:
    """Return the objects that a function or wrapper may call: the objects in its closure and in its attributes."""
    if type(item) is FunctionType:
        return [vars(item).get("__wrapped__"), *gc.get_referents(*(item.__closure__ or ()))]
    # The item is a method, partial, mock, wrapper object or wrapt proxy. (type() is used, because a proxy's `__class__`
    # is that of a function.)
    held = gc.get_referents(item, getattr(item, "__dict__", None))
    return [each for each in held if callable(each) and not isinstance(each, type)]
