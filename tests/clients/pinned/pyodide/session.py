"""The nox session of CPython in WebAssembly; noxfile.py runs this file with what it shares."""

import os
import shutil
from pathlib import Path
from typing import Any

import nox

ASYNCIO: tuple[str, ...] = globals()["ASYNCIO"]
node_packages: Any = globals()["node_packages"]

HERE = Path("tests/clients/pinned/pyodide")
PYTHON = "3.14"
PACKAGES = (
    "boto3",
    "hypothesis==6.145.1",  # the last without compiled code
    "jsonschema<4.18",  # the same
    "uvicorn",
    *ASYNCIO,
)
FOLDERS = (
    *("bedrock", "cases", "faults", "json_schema", "package", "reply", "samples", "strategies", "stream", "suite"),
    "types",
)
OTHERS = {
    "endpoint": ("applying", "calls", "endpoint", "named_operations", "script", "shared_state"),
    "endpoint/history": ("conversation",),
    "endpoint/prompt_cache": (
        "later_arguments",
        "prompt_cache",
        "prompt_cache_properties",
        "prompt_versions",
        "rewrites",
    ),
    "features/as_python": ("spelling",),
    "features/chaos": ("own_failure",),
    "features/improvise": ("improvised",),
    "features/report": ("notebook", "viewer"),
    "recordings": ("identity", "names"),
    "recordings/format": ("hidden_ids", "lines", "media", "opening", "parts"),
    "recordings/play": ("choosing", "ignoring", "matching", "mismatch", "paths"),
    "recordings/record": ("redaction",),
    "secrets": ("own_secrets",),
}
"""Of these folders only some files."""
SUITES = (
    str(HERE),
    *(f"tests/{name}" for name in FOLDERS),
    *(
        str(file)
        for folder, names in OTHERS.items()
        for name in names
        if (file := Path("tests", folder, f"test_{name}.py")).exists()  # a feature or a stage may be taken away
    ),
    "tests/cli/test_loading.py",
    "tests/clients/test_boto3.py",
    "tests/clients/test_boto3_guardrails.py",
    "tests/clients/test_cases_boto3.py",
    "tests/clients/test_cases_httpx.py",
    "tests/clients/test_choosing.py",
    "tests/clients/test_legal_oddities.py",
    "tests/clients/test_writing_replies.py",
    "tests/intercept/test_asgi.py",
    "tests/intercept/boto/test_boto.py",
    "tests/intercept/test_control_plane.py",
    "tests/intercept/test_decorating.py",
    "tests/intercept/test_first_mistakes.py",
    "tests/intercept/test_malformed.py",
    "tests/intercept/test_no_operation.py",
    "tests/intercept/test_operation_answers.py",
    "tests/intercept/test_user_functions.py",
    "tests/planted/test_planted.py",
)
"""Of these, half 2 runs (tests/halves.py; `coverage` runs half 1), because WebAssembly is slow. Tests that are marked
`needs_os` are left out."""
COMPILED = (
    "tests/strategies/strands/test_from_type_of_strands.py",
    "tests/strategies/json_schema/test_json_schema.py",
    "tests/json_schema/test_least_values.py",
    "tests/strategies/test_machine.py",
    "tests/strategies/json_schema/test_public_schemas.py",
)
"""These import strands or pydantic, which are compiled."""
KNOWN_WARNINGS = (
    # 3.14 counts references in another way, which this hypothesis takes for an object that nobody holds.
    "ignore:It looks like `register_random`:hypothesis.errors.HypothesisWarning",
    # Of the archive with the standard library, which is no file of ours; it is collected at any time.
    "ignore:unclosed file <_io.BufferedReader name='/lib/python314.zip'>:ResourceWarning",
)


def wheel(session: nox.Session, folder: Path) -> str:
    """The wheel that `.ci/run` built, or one that is built here."""
    if ready := os.environ.get("CONVERSE_WHEEL"):
        return ready
    shutil.rmtree(folder / "wheel", ignore_errors=True)
    session.install("uv")
    session.run("uv", "build", "--quiet", "--wheel", "--out-dir", str(folder / "wheel"))
    (built,) = (folder / "wheel").glob("*.whl")
    return str(built)


@nox.session(venv_backend="uv")
def pyodide(session: nox.Session) -> None:
    """CPython 3.14 of Pyodide, without sockets, threads and processes; needs Node.js 20 or newer with npm."""
    node_packages(session, suite="pyodide")
    folder = Path(session.create_tmp()).resolve()
    packages = folder / "packages"
    to = ("--target", str(packages), "--python-version", PYTHON, "--only-binary", ":all:")
    session.install("--reinstall-package", "converse-harness", *to, wheel(session, folder), *PACKAGES)
    for compiled in packages.rglob("*.so"):
        compiled.unlink()  # it is the host's
    # The other plugins are loaded by the suites that need them.
    off = ("no:cacheprovider", "no:faker", "no:respx", "no:anyio")
    options = (*(f"-p{name}" for name in off), *(f"-W{warning}" for warning in KNOWN_WARNINGS))
    chosen = ("-q", "--tier", "default", "--half", "2", "-m", "not needs_os")
    suites = session.posargs or (*SUITES, *(f"--ignore={file}" for file in COMPILED))
    where = (str(session.env["CONVERSE_NODE_MODULES"]), str(packages), str(Path.cwd()), str(HERE / "inside.py"))
    session.run("node", "--no-warnings", str(HERE / "run.mjs"), *where, *options, *chosen, *suites, external=True)
