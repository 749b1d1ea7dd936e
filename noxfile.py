"""Every check of the project, each in an environment of its own; `.ci/run` runs them all.

`nox` runs the sessions that a change needs most. The package is always installed as a wheel, never read from the tree.
uv installs no release of another project that is newer than the day in pyproject.toml; the session `newest` does.
"""

import datetime as dt
import os
import runpy
import shutil
from functools import partial
from pathlib import Path

import nox

PYTHONS = ("3.11", "3.12", "3.13")
PROJECT = nox.project.load_toml("pyproject.toml")
DEPENDENCIES = PROJECT["project"]["dependencies"]
TEST_TOOLS = PROJECT["project"]["optional-dependencies"]["test"]
DEFAULT_TIER = ("--tier", "default")  # said, so that no clock runs: the README's second command has the one of CI
PYTEST = ("pytest", "-o", "faulthandler_timeout=120")  # it says where a test hangs, and costs a millisecond a test
ASYNCIO = ("pytest-asyncio>=1.0",)  # pyproject.toml has settings of it
AIOBOTOCORE = ("aiobotocore[httpx2]>=3.10", "trio>=0.25", *ASYNCIO)
AIOBOTOCORE_MODULE = "*/intercept/boto/aio.py"
SMITHY = ("aws-sdk-bedrock-runtime>=0.12", *ASYNCIO)
MINISTACK = ("ministack>=1.5",)
LITELLM = ("litellm>=1.110.2",)  # earlier ones ask once more after a broken answer
PLUGINS = (
    "ddtrace>=3",
    "freezegun>=1.5",
    "gevent>=24",
    "pytest-run-parallel>=0.5",
    "pytest-timeout>=2.3",
    "time-machine>=2.16",
)
UNPINNED = (
    "tests-3.13",
    "typing",
    "lint",
    "litellm",
    "neighbours",
    "aiobotocore",
    "plugins",
    "ministack",
    "site",
    "smithy",
)
"""The sessions that take releases of other projects without an exact version."""
REHEARSED = ("strands", "langchain_aws", "pydantic_ai")
"""Clients of the matrix; boto3 comes with each."""
NEIGHBOURS = ("granian>=2", "langchain-aws>=1.0", "moto>=5.1")
BADDAY = ("strands", "langchain_aws", "pydantic_ai", "litellm_sync")
FLOOR_SUITES = (
    "tests/unit",
    "tests/intercept",
    "tests/server",
    "tests/control",
    "tests/rules",
    "tests/recordings/test_recording_boto.py",
    "tests/strategies",
    "tests/clients/test_attempts.py",
    "tests/clients/test_boto3.py",
    "tests/clients/test_boto3_guardrails.py",
    "tests/house/test_public_api.py",
    "tests/plugin/test_cases.py",
    "tests/plugin/test_chaos.py",
    "tests/plugin/test_entry_point.py",
    "tests/plugin/test_fixtures.py",
    "tests/plugin/test_outcome.py",
    "tests/plugin/test_recording_marker.py",
    "tests/plugin/test_rehearsal.py",
    "tests/plugin/test_samples.py",
)

STACKS = nox.project.load_toml("tests/clients/pinned/network/stacks.toml")["stacks"]
MATRIX = nox.project.load_toml("tests/clients/matrix/clients.toml")
FRAMEWORKS = nox.project.load_toml("tests/clients/pinned/frameworks/frameworks.toml")
HISTORY = nox.project.load_toml("tests/history/released/threads.toml")

nox.options.sessions = ["tests", "lint", "typing"]
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_external_run = True


def install(session: nox.Session, *packages: str, extra: str = "") -> None:
    """Install this package as a wheel, which `.ci/run` builds once for all, and others beside it."""
    wheel = os.environ.get("CONVERSE_WHEEL", ".")
    # uv keeps what it built of a folder as long as pyproject.toml stays the same.
    anew = ("--reinstall-package", "converse-harness") if wheel == "." and session.venv_backend == "uv" else ()
    session.install(*anew, f"{wheel}{extra}", *packages)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The default tier, or with `-- --tier slow` more of the tests."""
    install(session, extra="[test]")
    session.run(*PYTEST, *(session.posargs or DEFAULT_TIER))


@nox.session
def coverage(session: nox.Session) -> None:
    """The default tier, with the lines that it runs."""
    install(session, extra="[test]")
    arguments = session.posargs or DEFAULT_TIER
    pytest_with_coverage(session, *arguments, report=(f"--omit={AIOBOTOCORE_MODULE}", "--fail-under=94"))


@nox.session
def slow(session: nox.Session) -> None:
    """The slow tier without the default one."""
    install(session, extra="[test]")
    session.run(*PYTEST, *(session.posargs or ("--tier", "slow", "-m", "slow")))


@nox.session
def core(session: nox.Session) -> None:
    """The default tier in a copy without features; with `-- -f NAME` without one of them."""
    install(session, extra="[test]")
    session.run("python", "-m", "tests.without_features", *(session.posargs or DEFAULT_TIER))


def pytest_with_coverage(session: nox.Session, *arguments: str, report: tuple[str, ...]) -> None:
    """Run pytest and report the lines that ran; each session has data of its own.

    Python 3.12 and newer tell coverage of lines by `sys.monitoring`, in half the time of a tracer, without its locks;
    of branches they tell from 3.14 on.
    """
    session.env["COVERAGE_CORE"] = "sysmon"
    session.env["COVERAGE_FILE"] = str(Path(session.create_tmp()).resolve() / "coverage")
    session.run("coverage", "erase")
    session.run("coverage", "run", "-m", *PYTEST, *arguments)
    session.run("coverage", "combine", "--quiet")
    session.run("coverage", "report", *report)


@nox.session
def lint(session: nox.Session) -> None:
    """Style, and the directions of imports."""
    install(session, "ruff", "import-linter")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("lint-imports", "--no-cache")


@nox.session
def typing(session: nox.Session) -> None:
    """Both type checkers on the project, and on what a user writes with it."""
    # pyright needs node; its extra brings one that installs like any other package. The pinned suites need trio.
    packages = ("mypy", "nox", "pyright[nodejs]", "trio", "types-docutils", "types-pyyaml", *LITELLM, *NEIGHBOURS)
    install(session, *packages, extra="[docs,test]")
    session.run("mypy")
    session.run("mypy", "--platform", "win32", "harness", "strategies")  # what Windows lacks is asked for before
    session.run("pyright", "--pythonpath", f"{session.bin}/python")
    session.run("python", "tests/typing/check.py")


@nox.session(python="3.11", venv_backend="uv")
def floor(session: nox.Session) -> None:
    """The lowest versions that pyproject.toml allows, as botocore 1.40.0 and pytest 8.2, on the oldest Python."""
    install(session, "--resolution", "lowest-direct", *DEPENDENCIES, *TEST_TOOLS)
    session.run(*PYTEST, *(session.posargs or (*DEFAULT_TIER, *FLOOR_SUITES)))


def pinned(*suites: str) -> tuple[str, ...]:
    """Pytest's arguments for suites that need what `[test]` does not bring: every test of them but the nightly ones."""
    return ("--tier", "slow", *(f"tests/clients/pinned/{suite}" for suite in suites))


@nox.session
def aiobotocore(session: nox.Session) -> None:
    """aiobotocore, which pins botocore."""
    install(session, "coverage", *AIOBOTOCORE)
    suite = session.posargs or pinned("aiobotocore")
    pytest_with_coverage(session, *suite, report=(f"--include={AIOBOTOCORE_MODULE}", "--fail-under=94"))


@nox.session(python="3.12")
def smithy(session: nox.Session) -> None:
    """smithy-python's aws-sdk-bedrock-runtime, which needs Python 3.12."""
    install(session, *SMITHY)
    session.run(*PYTEST, *(session.posargs or pinned("smithy")))


@nox.session
def litellm(session: nox.Session) -> None:
    """litellm, whose pools of threads live as long as the process: beside them botocore stays patched."""
    install(session, *LITELLM, extra="[test]")
    session.run(*PYTEST, *(session.posargs or pinned("litellm")))


@nox.session
def neighbours(session: nox.Session) -> None:
    """What is too heavy for `[test]`: langchain-aws as a client, moto beside the fake, granian under the ASGI app."""
    install(session, *NEIGHBOURS, extra="[test]")
    session.run(*PYTEST, *(session.posargs or pinned("granian", "langchain", "moto")))


@nox.session
def rehearsal(session: nox.Session) -> None:
    """Four clients, rehearsed and run as other models; `-- --write` measures anew and writes docs/upgrade.md."""
    clients = (requirement for name in REHEARSED for requirement in MATRIX[name]["requires"])
    install(session, *clients, extra="[test]")
    if "--write" in session.posargs:
        session.run("python", "-m", "tests.rehearsal.edited")
    else:
        session.run(*PYTEST, *(session.posargs or pinned("rehearsal")))


@nox.session
def badday(session: nox.Session) -> None:
    """Plain agents of the frameworks, in the versions of the matrix, and what docs/found.md says of these versions."""
    # The extra of litellm pins another mcp than strands brings, which will do.
    packages = (package.replace("[mcp]", "") for name in BADDAY for package in MATRIX[name]["requires"])
    install(session, *packages, extra="[test]")
    session.run(*PYTEST, *(session.posargs or pinned("badday")))


@nox.session
def network(session: nox.Session) -> None:
    """Every known way to Bedrock, in a network of its own whose names lead to a trap."""
    # The wheel of urllib3-future, which niquests needs, takes the place of urllib3; built in this way it stands beside.
    session.env["URLLIB3_NO_OVERRIDE"] = "1"
    stacks = [f"{name}=={version}" for name, version in STACKS.items()]
    install(session, "--no-binary=urllib3-future", *stacks, extra="[test]")
    session.run(*PYTEST, "-n", "2", "--dist", "worksteal", *(session.posargs or pinned("network")))


@nox.session
def plugins(session: nox.Session) -> None:
    """What stops the time, runs tests in threads, traces them, or replaces threads and sockets."""
    install(session, *PLUGINS, extra="[test]")
    # Loaded by the inner runs alone.
    off = ("no:ddtrace", "no:run-parallel", "no:timeout", "no:time_machine")
    session.run(*PYTEST, *(f"-p{name}" for name in off), *(session.posargs or pinned("plugins")))


@nox.session
def ministack(session: nox.Session) -> None:
    """MiniStack, an emulator of AWS, as a service that is recorded: it brings a server of its own."""
    install(session, *MINISTACK, extra="[test]")
    session.run(*PYTEST, *(session.posargs or pinned("ministack")))


def node_is_there(session: nox.Session) -> None:
    """Say what is missing where there is no Node.js."""
    for command in ("node", "npm"):
        if shutil.which(command) is None:
            session.error(f"This session needs Node.js 20 or newer and npm; there is no `{command}` on the PATH")


def node_packages(session: nox.Session, *options: str, suite: str = "javascript") -> None:
    """Install what the lock file of a pinned suite says, and tell the tests where it is."""
    node_is_there(session)
    folder = Path(session.create_tmp()).resolve()
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(Path("tests/clients/pinned", suite, name), folder)
    session.run("npm", "ci", *options, "--prefix", str(folder), external=True)
    session.env["CONVERSE_NODE_MODULES"] = str(folder / "node_modules")


@nox.session
def javascript(session: nox.Session) -> None:
    """The AWS SDK for JavaScript, the AI SDK, vitest and tsc as documented; needs Node.js 20 or newer with npm."""
    node_packages(session)
    install(session, *ASYNCIO)
    session.run(*PYTEST, *(session.posargs or pinned("javascript")))


@nox.session
def matrix(session: nox.Session) -> None:
    """Ask every client of the matrix anew, and write docs/matrix.md."""
    for name in MATRIX:
        session.notify(f"matrix-{name}", ["--write"])
    session.notify("matrix-page")


def matrix_client(session: nox.Session, name: str) -> None:
    """One client of the matrix: what it does must be what was seen of it; `-- --write` writes that anew."""
    client = MATRIX[name]
    if client.get("node"):
        node_packages(session, "--omit=dev")
    install(session, *ASYNCIO, *client["requires"])
    writes = "--write" in session.posargs
    session.env["CONVERSE_MATRIX"] = "write" if writes else ""
    files = (Path(f"tests/clients/matrix/{kind}_{name}.py") for kind in ("test", "test_overflow", "test_conversation"))
    suites = (str(file) for file in files if file.exists())
    # While it writes, a test may fail for what is new; the run that follows must not.
    # A note on a sound client would be a rule that is wrong.
    noted = "--converse-notes=fail"
    session.run(*PYTEST, "--tier", "slow", noted, *suites, success_codes=[0, 1] if writes else [0])


for _name in MATRIX:  # each in an environment of its own; smithy-python needs Python 3.12
    _ask = partial(matrix_client, name=_name)
    _ask.__doc__ = f"{MATRIX[_name]['title']} in the matrix: what it does must be what was seen of it."
    nox.session(python="3.12", name=f"matrix-{_name}")(_ask)


@nox.session(name="matrix-page", python="3.12")
def matrix_page(session: nox.Session) -> None:
    """Write docs/matrix.md from what was seen."""
    install(session)
    session.run("python", "-m", "tests.clients.matrix.page")


@nox.session(venv_backend="none")
def frameworks(session: nox.Session) -> None:
    """Agent frameworks, each in an environment of its own; `-- NAME ...` tries these only. Takes 20 minutes."""
    names = session.posargs or list(FRAMEWORKS)
    if unknown := [name for name in names if name not in FRAMEWORKS]:
        session.error(f"There is no framework {', '.join(unknown)}. Known: {', '.join(FRAMEWORKS)}")
    for name in names:
        session.notify(f"frameworks-{name}", [])


def framework(session: nox.Session, name: str) -> None:
    """One framework, in a plain project: no settings of this one, no AWS account, and a home without files."""
    tried = FRAMEWORKS[name]
    install(session, *tried["requires"])
    home = Path(session.create_tmp()).resolve() / "home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    folder = Path("tests/clients/pinned/frameworks")
    account = dict.fromkeys(variable for variable in os.environ if variable.startswith("AWS_"))
    environ = {**account, "HOME": str(home), "PYTHONPATH": None, "PYTEST_ADDOPTS": None, **tried.get("environ", {})}
    suite = session.posargs or (str(folder / f"test_{name}.py"),)
    session.run("pytest", "-c", str(folder / "pytest.ini"), "-p", "no:cacheprovider", *suite, env=environ)


for _name in FRAMEWORKS:  # each in an environment of its own: their pins clash
    _try = partial(framework, name=_name)
    _try.__doc__ = f"{FRAMEWORKS[_name]['title']}: a plain suite on it, as docs/frameworks.md has it."
    nox.session(python=FRAMEWORKS[_name]["python"], name=f"frameworks-{_name}")(_try)


@nox.session
def dist(session: nox.Session) -> None:
    """What is released: the wheel is built from the sdist, and holds what it should and nothing else."""
    session.install("build[uv]")
    folder = Path(session.create_tmp()).resolve()
    for old in folder.glob("converse_harness-*"):
        old.unlink()
    session.run("python", "-m", "build", "--installer", "uv", "--outdir", str(folder), silent=True)
    session.run("python", "-m", "tests.house.dist", str(folder))


@nox.session(venv_backend="none")
def newest(session: nox.Session) -> None:
    """The sessions without exact versions, with the releases of today; `-- litellm typing` runs some of them."""
    tomorrow = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    os.environ["UV_EXCLUDE_NEWER"] = f"{tomorrow:%Y-%m-%d}"  # takes the place of the day in pyproject.toml
    for name in session.posargs or UNPINNED:
        session.notify(name, [])


@nox.session
def docs(session: nox.Session) -> None:
    """The examples in README, docs and docstrings."""
    install(session, extra="[test]")
    session.run(*PYTEST, "tests/examples", "--tier", "slow", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Small changes of the product, drawn by a seed: each is judged by the tests of its line. Takes 90 minutes."""
    install(session, "cosmic-ray", extra="[test]")
    session.run("python", "-m", "tests.mutants", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Event streams, recordings, cassettes and the control API, fuzzed for ten minutes; Linux or macOS."""
    install(session, "atheris>=3", extra="[test]")
    session.run("python", "-m", "tests.fuzz", *session.posargs)


@nox.session
def flakes(session: nox.Session) -> None:
    """The default tier twenty times in random orders, half of them while all cores are kept busy. Takes an hour."""
    install(session, "pytest-randomly", extra="[test]")
    session.run("python", "-m", "tests.flakes", *session.posargs)


@nox.session(python=HISTORY["python"])
def history(session: nox.Session) -> None:
    """Clients as they were released before and after the fix of a public thread; needs Node.js 20 or newer with npm."""
    node_is_there(session)
    session.install("uv")
    session.run("python", "-m", "tests.history.released", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """The budgets: ratio, budget, verdict."""
    install(session, extra="[test]")
    if shutil.which("npm"):  # without it the report says what could not be measured
        session.run("npm", "ci", "--prefix", "benchmarks/node", external=True)
    session.run("python", "-m", "benchmarks", *session.posargs)


shared: dict[str, object] = {"MATRIX": MATRIX, "ASYNCIO": ASYNCIO, "PYTEST": PYTEST}
shared |= {"install": install, "node_is_there": node_is_there, "node_packages": node_packages, "pinned": pinned}
pinned_sessions = (f"tests/clients/pinned/{suite}/" for suite in ("browser", "notebook", "pyodide"))
for folder in (*pinned_sessions, "tests/clients/differential_", "tests/tool_schemas/", "docs/_site/"):
    runpy.run_path(f"{folder}session.py", shared)
