"""How botocore reads its data files in a run of pytest: once for all sessions, or as usual, and measured.

Kept is what stands in botocore's own data folder and is read by botocore's own classes. Files of other folders
(`AWS_DATA_PATH`, `~/.aws/models`, the data of boto3) are small and may change between tests, so they are read each
time. Subclasses of botocore's loaders may list or read something else, so they do it themselves.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from stat import S_ISREG
from types import ModuleType
from typing import Any, Final, NamedTuple

import pytest

from converse_harness.features.boto_data.copies import copies_of, copies_of_endpoints
from converse_harness.plugin.settings import chosen

_Function = Callable[..., Any]

MEASURED: Final = pytest.StashKey["MeasuredReading"]()
"""The key under which the stash of the pytest config holds a MeasuredReading, if the setting is `off`."""

_KEPT: Final[set[ModuleType]] = set()
"""The modules `botocore.loaders` whose data are kept."""


def botocore_imported(config: pytest.Config, loaders: ModuleType) -> None:
    """To the end of the run, keep what the module `botocore.loaders` reads, or measure it, as the setting says."""
    if chosen(config, "boto_data") == "off":
        reading = config.stash.setdefault(MEASURED, MeasuredReading())
        config.add_cleanup(_replace(loaders, reading.measured, reading.measured))
    elif loaders not in _KEPT:  # an inner run of pytest uses what the outer run keeps
        config.add_cleanup(keep(loaders))


def keep(loaders: ModuleType) -> Callable[[], None]:
    """Keep what the module `botocore.loaders` reads, and return the function that ends this."""
    kept = _KeptData(loaders)
    restore = _replace(loaders, kept.load_file, kept.list_services)
    _KEPT.add(loaders)

    def end() -> None:
        kept.ended = True
        _KEPT.discard(loaders)
        restore()

    return end


def _replace(
    loaders: Any, load_file: Callable[[_Function], _Function], list_services: Callable[[_Function], _Function]
) -> Callable[[], None]:
    """Replace the two methods in which botocore's time goes, and return the function that restores them.

    The two functions make the replacements from the originals.
    """
    replaced: list[tuple[type, str, _Function, _Function]] = []
    files, services = loaders.JSONFileLoader.load_file, loaders.Loader.list_available_services
    replaced.append((loaders.JSONFileLoader, "load_file", files, load_file(files)))
    replaced.append((loaders.Loader, "list_available_services", services, list_services(services)))
    for owner, name, _, replacement in replaced:
        setattr(owner, name, replacement)

    def restore() -> None:
        for owner, name, original, replacement in replaced:
            if vars(owner).get(name) is replacement:  # otherwise another tool has wrapped it
                setattr(owner, name, original)

    return restore


class _File(NamedTuple):
    """The file that botocore would read, by its suffix such as ".json.gz", and what differs if it has changed."""

    suffix: str
    modified: int
    size: int
    inode: int


class _KeptData:
    """What was read of one botocore. `ended`: from now on, the original methods do the work."""

    def __init__(self, loaders: Any) -> None:
        self.ended = False
        self._loaders = loaders
        self._open: Mapping[str, _Function] = loaders._JSON_OPEN_METHODS
        self._folder: str = loaders.Loader.BUILTIN_DATA_PATH
        self._copies: dict[str, tuple[_File, Callable[[], Any]]] = {}
        self._services: dict[str, tuple[int, list[str]]] = {}

    def load_file(self, original: _Function) -> _Function:
        """Make the method that returns a copy of a file's content. It gets a path without suffix."""
        own, folder = self._loaders.JSONFileLoader, self._folder + os.sep

        @wraps(original)
        def load_file(loader: Any, file_path: str) -> Any:
            is_own = type(loader) is own and file_path.startswith(folder) and not self.ended
            file = self._file(file_path) if is_own else None
            if file is None:
                return original(loader, file_path)
            read, copies = self._copies.get(file_path, (None, None))
            if copies is None or read != file:
                copies = self._read(file_path, file.suffix)
                if file == self._file(file_path):
                    self._copies[file_path] = file, copies
            return copies()

        return load_file

    def _file(self, file_path: str) -> _File | None:
        for suffix in self._open:
            with suppress(OSError):
                # botocore's `os`, for which a test may have a fake file system
                found = self._loaders.os.stat(file_path + suffix)
                if S_ISREG(found.st_mode):
                    return _File(suffix, found.st_mtime_ns, found.st_size, found.st_ino)
        return None

    def _read(self, file_path: str, suffix: str) -> Callable[[], Any]:
        """Read a file as botocore does, but into dicts, which are smaller than OrderedDicts and keep the order too."""
        with self._open[suffix](file_path + suffix, "rb") as file:
            data = json.loads(file.read().decode())
        endpoints = file_path == os.path.join(self._folder, "endpoints")
        return copies_of_endpoints(data) if endpoints else copies_of(data)

    def list_services(self, original: _Function) -> _Function:
        """Make the method that lists the services with a file of a type in one of the loader's folders."""
        own, own_files = self._loaders.Loader, self._loaders.JSONFileLoader

        def services_in(folders: list[str], type_name: str) -> list[str]:
            listed: list[str] = original(own(folders, include_default_search_paths=False), type_name)
            return listed

        def list_available_services(loader: Any, type_name: str) -> list[str]:
            is_own = type(loader) is own and type(loader.file_loader) is own_files and not self.ended
            if not is_own or self._folder not in loader.search_paths:
                listed: list[str] = original(loader, type_name)
                return listed
            # A new version of a service does not change this time, but it does not change the list either.
            modified = self._loaders.os.stat(self._folder).st_mtime_ns
            listed_at, services = self._services.get(type_name, (0, []))
            if listed_at != modified:
                services = services_in([self._folder], type_name)
                self._services[type_name] = modified, services
            others = [folder for folder in loader.search_paths if folder != self._folder]
            return sorted({*services, *services_in(others, type_name)})

        # As for the original, the result is stored in the loader, by the function's name.
        cached: _Function = self._loaders.instance_cache(list_available_services)
        return cached


class MeasuredReading:
    """The CPU time in which botocore read and listed its data files; wall time would depend on what else is running."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def measured(self, original: _Function) -> _Function:
        """Make a method that does what the original does, and measures it."""

        @wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            start = time.thread_time()
            try:
                return original(*args, **kwargs)
            finally:
                self._seconds += time.thread_time() - start

        return call

    def take(self) -> float:
        """Return the seconds since the last call of this method."""
        taken, self._seconds = self._seconds, 0.0
        return taken
