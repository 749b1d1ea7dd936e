"""Importing the package costs nothing: what is heavy is loaded at first need. Its public names are all there."""

import ast
import importlib
import json
import os
import subprocess
import sys
import sysconfig
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

import converse_harness
import converse_strategies
from converse_harness.imports import ImportHook

PACKAGES = (converse_harness, converse_strategies)

HEAVY = frozenset({"asyncio", "botocore", "faker", "h11", "h2", "httpx", "hypothesis", "respx"})

# Only what comes on top of pytest counts: it may load parts of the standard library itself.
LOADED_BY = """
import json, sys
import pytest
before = set(sys.modules)
import {module}
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def loaded_by(module: str) -> set[str]:
    """The modules that an import loads in a fresh interpreter, pytest's own aside."""
    run = subprocess.run(
        [sys.executable, "-c", LOADED_BY.format(module=module)], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(run.stdout))


@pytest.mark.needs_os
@pytest.mark.parametrize("module", ["converse_harness", "converse_harness.cases", "converse_harness.plugin"])
def test_import_loads_nothing_heavy(module: str) -> None:
    loaded = loaded_by(module)
    assert module in loaded
    assert {name for name in loaded if name.partition(".")[0] in HEAVY} == set()


@pytest.mark.needs_os
def test_what_recordings_need_is_loaded_with_the_first_of_them() -> None:
    loaded = loaded_by("converse_harness.plugin")
    assert {name for name in loaded if "recording" in name} == {
        "converse_harness.recordings",
        "converse_harness.recordings.names",
    }


@pytest.mark.needs_os
def test_a_plugin_without_a_contract_loads_none() -> None:
    loaded = loaded_by("converse_harness.plugin")
    assert "converse_harness.plugin.outcome" in loaded
    assert {name for name in loaded if name.startswith("converse_harness.contract")} == set()


@pytest.mark.needs_os
def test_strategies_load_the_service_model_at_first_need() -> None:
    assert {name for name in loaded_by("converse_strategies") if name.partition(".")[0] == "botocore"} == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_stub_is_nothing_but_the_public_names(package: ModuleType) -> None:
    stub = ast.parse(Path(package.__path__[0], "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    assert len(imports) == len(stub.body)
    assert [node.names[0].asname for node in imports] == [node.names[0].name for node in imports]
    names = sorted(node.names[0].name for node in imports)
    assert dir(package) == names == sorted(set(names))


@pytest.mark.parametrize("package", PACKAGES)
def test_a_star_imports_every_public_name(package: ModuleType) -> None:
    imported: dict[str, object] = {}
    exec(f"from {package.__name__} import *", imported)
    assert sorted(imported.keys() - {"__builtins__"}) == dir(package)


@pytest.mark.parametrize(("package", "name"), [(package, name) for package in PACKAGES for name in dir(package)])
def test_public_name_resolves(package: ModuleType, name: str) -> None:
    assert getattr(package, name) is getattr(package, name)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(converse_harness, "no_such_name")  # noqa: B009  (a checker knows that the name is wrong)


def test_ci_tests_the_installed_wheel() -> None:
    """The root of the tree, which is on sys.path, has no package of ours; under CI=true the installed is imported."""
    imported = Path(converse_harness.__file__).resolve()
    root = Path(__file__).resolve().parents[2]
    if os.environ.get("CI") == "true":
        assert imported.is_relative_to(Path(sysconfig.get_paths()["purelib"]).resolve())
    assert not list(root.glob("converse_*"))


@pytest.mark.parametrize("hooks", range(1, 4))
def test_hooks_for_one_module_do_not_ask_each_other(
    hooks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is called once, the one nearest to the finder first, and the module keeps its own loader."""
    (tmp_path / "hooked_module.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    called: list[int] = []

    def hook(number: int) -> ImportHook:
        return ImportHook(("hooked_module",), lambda _: called.append(number))

    found = list(map(hook, range(hooks)))
    monkeypatch.setattr(sys, "meta_path", [*found, *sys.meta_path])
    module = importlib.import_module("hooked_module")
    del sys.modules["hooked_module"]
    assert (module.value, called) == (1, [*reversed(range(hooks))])
    assert isinstance(module.__loader__, SourceFileLoader)
    assert module.__spec__ is not None
    assert module.__spec__.loader is module.__loader__


ENDING = """
import gc, sys, pytest
from importlib.metadata import entry_points
others = [f"-pno:{entry.name}" for entry in entry_points(group="pytest11") if not entry.value.startswith("converse_")]
pytest.main(["-q", "-p", "no:cacheprovider", *others])
from converse_harness.intercept.guard import workers
seen, todo = {id(sys), id(vars(sys)), id(sys.modules)}, [workers._share]
while todo:
    for each in gc.get_referents(todo.pop()):
        if id(each) not in seen:
            seen.add(id(each))
            todo.append(each)
print({name for name in ("typing", "re", "_pytest.assertion.rewrite", "pytest") if id(sys.modules[name]) in seen})
"""


@pytest.mark.needs_os
def test_what_lives_to_the_end_of_the_process_holds_nothing_of_pytest(tmp_path: Path) -> None:
    """What is registered for forks cannot be taken back; with pytest's loader it would hold the whole run."""
    run = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert run.stdout.splitlines()[-1] == "set()"
