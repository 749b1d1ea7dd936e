"""All checks of the project. Each session has its own environment, and `.ci/run` runs all of them.

`nox` without arguments runs the sessions that most changes need. The package is always installed as a wheel, and never
imported from the source tree. uv does not install releases of other projects that are newer than the date in
pyproject.toml; only the session `newest` does.
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
DEFAULT_TIER = (
    "--tier",
    "default",
)  # without --tier, tests have a time limit under CI (tests/tiers.py)
QUICK_TIER = (*DEFAULT_TIER, "--hypothesis-profile=quick")
"""For what runs the default tier once more: the profile `ci` has the same examples on each Python, and more of them."""
PYTEST = ("pytest", "-o", "faulthandler_timeout=120")  # prints where a test hangs; costs a millisecond per test
ASYNCIO = ("pytest-asyncio>=1.0",)  # pyproject.toml contains settings for it
AIOBOTOCORE = ("aiobotocore[httpx2]>=3.10", "trio>=0.25", *ASYNCIO)
AIOBOTOCORE_MODULE = "*/intercept/boto/aio.py"
SMITHY = ("aws-sdk-bedrock-runtime>=0.12", *ASYNCIO)
MINISTACK = ("ministack>=1.5",)
LITELLM = ("litellm>=1.110.2",)  # earlier releases repeat the request after a broken answer
PLUGINS = (
    "ddtrace>=3",
    "eventlet>=0.40",
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
    "companions",
    "snapshots",
    "aiobotocore",
    "plugins",
    "ministack",
    "site",
    "smithy",
)
"""The sessions that take releases of other projects without an exact version."""
REHEARSED = ("strands", "langchain_aws", "pydantic_ai")
"""The clients of the matrix that the session `rehearsal` runs. Each of them installs boto3."""
FILES = (
    "agent_framework",
    "agno",
    "any_llm",
    "google_adk",
    "griptape",
    "haystack",
    "llama_index",
    "llm_bedrock",
    "openai_agents",
    "semantic_kernel",
)
"""The frameworks that the session `files` runs, beside the clients of `rehearsal`."""
NEIGHBOURS = ("granian>=2", "langchain-aws>=1.0", "moto>=5.1")
COMPANIONS = (
    "amazon-bedrock-haystack>=9",
    "bedrock-agentcore>=1.25",
    "langchain>=1.5",
    "langchain-aws>=1.9",
    "strands-agents>=1.62",
    "strands-agents-tools>=0.8",
)
"""Clients of other services of Bedrock: knowledge bases, rerankers, AgentCore."""
RIVALS = (
    "aiohttp>=3.10",
    "boto3>=1.40",
    "strands-agents>=1.40",
    "cassetter>=0.16",
    "moto>=5.1",
    "pytest-httpserver>=1.1",
    "pytest-recording>=0.13",
    "vcrpy>=8",
)
"""What the benchmarks are measured with and beside; aimock comes from npm."""
BADDAY = ("strands", "langchain_aws", "pydantic_ai", "litellm_sync")
FLOOR_SUITES = (
    "tests/bedrock",
    "tests/cases",
    "tests/endpoint",
    "tests/faults",
    "tests/intercept",
    "tests/json_schema",
    "tests/package",
    "tests/reply",
    "tests/samples",
    "tests/server",
    "tests/strategies",
    "tests/stream",
    "tests/suite",
    "tests/types",
    "tests/recordings/record/test_recording_boto.py",
    "tests/cli/test_serve_rules.py",
    "tests/clients/test_attempts.py",
    "tests/clients/test_boto3.py",
    "tests/clients/test_boto3_guardrails.py",
    "tests/house/test_public_api.py",
    "tests/plugin/test_cases.py",
    "tests/plugin/test_entry_point.py",
    "tests/plugin/test_fixtures.py",
    "tests/plugin/test_outcome.py",
    "tests/plugin/recording/test_recording_marker.py",
    "tests/plugin/test_samples.py",
    *(
        str(file)
        for name in ("chaos", "improvised", "live", "notebook", "own_failure", "rehearsal", "viewer")
        for file in Path("tests/features").rglob(f"test_{name}.py")
        if "pinned" not in file.parts
    ),
)

STACKS = nox.project.load_toml("tests/clients/pinned/network/stacks.toml")["stacks"]
MATRIX = nox.project.load_toml("tests/clients/matrix/clients.toml")
FRAMEWORKS = nox.project.load_toml("tests/clients/pinned/frameworks/frameworks.toml")
HISTORY = nox.project.load_toml("tests/public_threads/released/threads.toml")

nox.options.sessions = ["tests", "lint", "typing"]
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_external_run = True


def install(session: nox.Session, *packages: str, extra: str = "") -> None:
    """Install this package as a wheel, and other packages. `.ci/run` builds one wheel for all sessions."""
    wheel = os.environ.get("CONVERSE_WHEEL", ".")
    # uv reuses the wheel that it built from a folder until pyproject.toml changes.
    anew = ("--reinstall-package", "converse-harness") if wheel == "." and session.venv_backend == "uv" else ()
    session.install(*anew, f"{wheel}{extra}", *packages)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the default tier; with `-- --tier slow`, the slow tests as well."""
    install(session, extra="[test]")
    session.run(*PYTEST, *(session.posargs or DEFAULT_TIER))


@nox.session
def coverage(session: nox.Session) -> None:
    """Run the default tier, and measure which lines of the product it runs."""
    install(session, extra="[test]")
    arguments = session.posargs or DEFAULT_TIER
    pytest_with_coverage(session, *arguments, report=(f"--omit={AIOBOTOCORE_MODULE}", "--fail-under=94"))


@nox.session
def slow(session: nox.Session) -> None:
    """Run the slow tests only."""
    install(session, extra="[test]")
    session.run(*PYTEST, *(session.posargs or ("--tier", "slow", "-m", "slow")))


@nox.session(python="3.12")
def core(session: nox.Session) -> None:
    """The default tier in a copy without features and stages; `-- -f NAME` or `-- -s NAME` removes only one."""
    install(session, extra="[test]")
    session.run("python", "-m", "tests.without", *(session.posargs or QUICK_TIER))


def pytest_with_coverage(session: nox.Session, *arguments: str, report: tuple[str, ...]) -> None:
    """Run pytest and report the lines that ran. Each session writes its data to its own file.

    In Python 3.12 and newer, coverage measures lines with `sys.monitoring`: this takes half the time of a tracer and
    needs no locks. It can measure branches in this way from Python 3.14 on.
    """
    session.env["COVERAGE_CORE"] = "sysmon"
    session.env["COVERAGE_FILE"] = str(Path(session.create_tmp()).resolve() / "coverage")
    session.run("coverage", "erase")
    session.run("coverage", "run", "-m", *PYTEST, *arguments)
    session.run("coverage", "combine", "--quiet")
    session.run("coverage", "report", *report)


@nox.session
def lint(session: nox.Session) -> None:
    """Check the style, and which module may import which."""
    install(session, "ruff", "import-linter")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("lint-imports", "--no-cache")


@nox.session
def typing(session: nox.Session) -> None:
    """Run both type checkers on the project, and on examples of code that users write."""
    # pyright needs Node.js, which its extra `nodejs` installs as a package. The pinned suites need trio.
    packages = ("mypy", "nox", "pyright[nodejs]", "trio", "types-docutils", "types-pyyaml", *LITELLM, *NEIGHBOURS)
    install(session, *packages, "syrupy>=5", extra="[docs,test]")
    session.run("mypy")
    session.run("mypy", "--platform", "win32", "harness", "strategies")  # code for other systems needs a condition
    session.run("pyright", "--pythonpath", f"{session.bin}/python")
    session.run("python", "tests/typing/check.py")


@nox.session(python="3.11", venv_backend="uv")
def floor(session: nox.Session) -> None:
    """Test with the lowest versions that pyproject.toml allows, such as botocore 1.40.0, on the oldest Python."""
    install(session, "--resolution", "lowest-direct", *DEPENDENCIES, *TEST_TOOLS)
    session.run(*PYTEST, *(session.posargs or (*QUICK_TIER, *FLOOR_SUITES)))


def pinned(*suites: str) -> tuple[str, ...]:
    """Return pytest's arguments that run all but the nightly tests of suites whose packages are not in `[test]`.

    The part of a suite that tests a feature stands in the feature's folder.
    """
    folders = [*Path("tests/clients/pinned").iterdir(), *Path("tests/features").glob("*/pinned/*")]
    return ("--tier", "slow", *(str(folder) for suite in suites for folder in folders if folder.name == suite))


@nox.session
def aiobotocore(session: nox.Session) -> None:
    """Test with aiobotocore, which limits the versions of botocore."""
    install(session, "coverage", *AIOBOTOCORE)
    suite = session.posargs or pinned("aiobotocore")
    pytest_with_coverage(session, *suite, report=(f"--include={AIOBOTOCORE_MODULE}", "--fail-under=94"))


@nox.session(python="3.12")
def smithy(session: nox.Session) -> None:
    """Test with aws-sdk-bedrock-runtime of smithy-python, which needs Python 3.12."""
    install(session, *SMITHY)
    session.run(*PYTEST, *(session.posargs or pinned("smithy")))


@nox.session
def litellm(session: nox.Session) -> None:
    """Test with litellm. Its thread pools live as long as the process, and botocore stays patched for them."""
    install(session, *LITELLM, extra="[test]")
    session.run(*PYTEST, *(session.posargs or pinned("litellm")))


@nox.session
def neighbours(session: nox.Session) -> None:
    """Test with packages that are too large for `[test]`: langchain-aws, moto beside the fake, granian for ASGI."""
    install(session, *NEIGHBOURS, extra="[test]")
    session.run(*PYTEST, *(session.posargs or pinned("granian", "langchain", "moto")))


@nox.session
def companions(session: nox.Session) -> None:
    """Test agents that also ask knowledge bases, rerankers, embedding models and AgentCore, on one fake."""
    install(session, *COMPANIONS, extra="[test]")
    environ = {"HAYSTACK_TELEMETRY_ENABLED": "false"}
    session.run(*PYTEST, *(session.posargs or pinned("companions")), env=environ)


@nox.session
def snapshots(session: nox.Session) -> None:
    """Test outlines with the libraries that store snapshots."""
    install(session, "syrupy>=5", "inline-snapshot>=0.30", "pytest-regressions>=2.8", extra="[test]")
    session.run(*PYTEST, *(session.posargs or pinned("snapshots")))


@nox.session
def rehearsal(session: nox.Session) -> None:
    """Rehearse four clients as other models, and run them as these; `-- --write` also writes docs/upgrade.md."""
    clients = (requirement for name in REHEARSED for requirement in MATRIX[name]["requires"])
    install(session, *clients, extra="[test]")
    if "--write" in session.posargs:
        session.run("python", "-m", "tests.features.rehearsal.edited")
    else:
        session.run(*PYTEST, *(session.posargs or pinned("rehearsal")))


@nox.session
def badday(session: nox.Session) -> None:
    """Test plain agents of four frameworks in the versions of the matrix, and what docs/found.md says about them."""
    # litellm's extra `mcp` needs another version of mcp than strands. The version that strands installs is sufficient.
    packages = (package.replace("[mcp]", "") for name in BADDAY for package in MATRIX[name]["requires"])
    install(session, *packages, extra="[test]")
    session.run(*PYTEST, *(session.posargs or pinned("badday")))


@nox.session
def network(session: nox.Session) -> None:
    """Try every known way to reach Bedrock, in a separate network where all host names lead to a trap."""
    # niquests needs urllib3-future, whose wheel replaces urllib3. Built with this variable, it is installed beside it.
    session.env["URLLIB3_NO_OVERRIDE"] = "1"
    stacks = [f"{name}=={version}" for name, version in STACKS.items()]
    install(session, "--no-binary=urllib3-future", *stacks, extra="[test]")
    session.run(*PYTEST, "-n", "2", "--dist", "worksteal", *(session.posargs or pinned("network")))


@nox.session
def plugins(session: nox.Session) -> None:
    """Test beside plugins that stop the clock, run tests in threads, trace them, or replace threads and sockets."""
    install(session, *PLUGINS, extra="[test]")
    # Only the inner runs of pytest load these plugins.
    off = ("no:ddtrace", "no:run-parallel", "no:timeout", "no:time_machine")
    session.run(*PYTEST, *(f"-p{name}" for name in off), *(session.posargs or pinned("plugins")))


@nox.session
def ministack(session: nox.Session) -> None:
    """Record MiniStack, an emulator of AWS that has its own server."""
    install(session, *MINISTACK, extra="[test]")
    session.run(*PYTEST, *(session.posargs or pinned("ministack")))


def node_is_there(session: nox.Session) -> None:
    """Fail the session if Node.js or npm is missing."""
    for command in ("node", "npm"):
        if shutil.which(command) is None:
            session.error(f"This session needs Node.js 20 or newer and npm; there is no `{command}` on the PATH")


def node_packages(session: nox.Session, *options: str, suite: str = "javascript") -> None:
    """Install the packages in the lock file of a pinned suite, and set the variable that names their folder."""
    node_is_there(session)
    folder = Path(session.create_tmp()).resolve()
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(Path("tests/clients/pinned", suite, name), folder)
    session.run("npm", "ci", *options, "--prefix", str(folder), external=True)
    session.env["CONVERSE_NODE_MODULES"] = str(folder / "node_modules")


@nox.session
def javascript(session: nox.Session) -> None:
    """Test the AWS SDK for JavaScript, the AI SDK, vitest and tsc as documented; needs Node.js 20 or newer and npm."""
    node_packages(session)
    install(session, *ASYNCIO)
    session.run(*PYTEST, *(session.posargs or pinned("javascript")))


@nox.session
def matrix(session: nox.Session) -> None:
    """Observe every client of the matrix again, and write docs/matrix.md."""
    for name in MATRIX:
        session.notify(f"matrix-{name}", ["--write"])
    session.notify("matrix-page")


def matrix_client(session: nox.Session, name: str) -> None:
    """Compare the behaviour of one client of the matrix with the stored observations; `-- --write` stores new ones."""
    client = MATRIX[name]
    if client.get("node"):
        node_packages(session, "--omit=dev")
    install(session, *ASYNCIO, *client["requires"])
    writes = "--write" in session.posargs
    session.env["CONVERSE_MATRIX"] = "write" if writes else ""
    files = (Path(f"tests/clients/matrix/{kind}_{name}.py") for kind in ("test", "test_overflow", "test_conversation"))
    suites = (str(file) for file in files if file.exists())
    # When new observations are stored, a test may fail because of a difference; the next run must pass.
    # If a correct client causes a note, then the rule of this note is wrong.
    noted = "--converse-notes=fail"
    session.run(*PYTEST, "--tier", "slow", noted, *suites, success_codes=[0, 1] if writes else [0])


for _name in MATRIX:  # each in an environment of its own; smithy-python needs Python 3.12
    _ask = partial(matrix_client, name=_name)
    _ask.__doc__ = f"{MATRIX[_name]['title']} in the matrix: compare its behaviour with the stored observations."
    nox.session(python="3.12", name=f"matrix-{_name}")(_ask)


@nox.session(name="matrix-page", python="3.12")
def matrix_page(session: nox.Session) -> None:
    """Write docs/matrix.md from the stored observations."""
    install(session)
    session.run("python", "-m", "tests.clients.matrix.page")


@nox.session(venv_backend="none")
def frameworks(session: nox.Session) -> None:
    """Test agent frameworks, each in its own environment; `-- NAME ...` selects some. Takes 20 minutes."""
    names = session.posargs or list(FRAMEWORKS)
    if unknown := [name for name in names if name not in FRAMEWORKS]:
        session.error(f"There is no framework {', '.join(unknown)}. Known: {', '.join(FRAMEWORKS)}")
    for name in names:
        session.notify(f"frameworks-{name}", [])


def framework(session: nox.Session, name: str) -> None:
    """Test one framework in a plain project: without our settings and an AWS account, in an empty home folder."""
    tried = FRAMEWORKS[name]
    install(session, *tried["requires"])
    in_plain_project(session, f"tests/clients/pinned/frameworks/test_{name}.py", **tried.get("environ", {}))


def in_plain_project(session: nox.Session, suite: str, **more: str) -> None:
    """Run a suite without our settings and an AWS account, in an empty home folder, with more in its environment."""
    home = Path(session.create_tmp()).resolve() / "home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    account = dict.fromkeys(variable for variable in os.environ if variable.startswith("AWS_"))
    environ = {**account, "HOME": str(home), "PYTHONPATH": None, "PYTEST_ADDOPTS": None, **more}
    plain = ("-c", "tests/clients/pinned/frameworks/pytest.ini", "-p", "no:cacheprovider")
    session.run("pytest", *plain, *(session.posargs or (suite,)), env=environ)


for _name in FRAMEWORKS:  # each in an environment of its own: their pins clash
    _try = partial(framework, name=_name)
    _try.__doc__ = f"{FRAMEWORKS[_name]['title']}: run the plain suite that docs/frameworks.md shows."
    nox.session(python=FRAMEWORKS[_name]["python"], name=f"frameworks-{_name}")(_try)


@nox.session(python="3.12")
def files(session: nox.Session) -> None:
    """Record agents of fifteen packages with files in requests and by digest, replay these, and print both sizes."""
    tried = [*(MATRIX[name] for name in REHEARSED), *(FRAMEWORKS[name] for name in FILES)]
    # They are pinned to several releases of boto3; uv chooses one that fits all of them.
    packages = (package for each in tried for package in each["requires"] if not package.startswith(("aio", "boto")))
    install(session, *packages)
    environ = {name: value for each in tried for name, value in each.get("environ", {}).items()}
    in_plain_project(session, "tests/clients/pinned/files/test_files.py", **environ)


@nox.session
def dist(session: nox.Session) -> None:
    """Build the sdist, and the wheel from it; check that they contain the right files and no others."""
    session.install("build[uv]")
    folder = Path(session.create_tmp()).resolve()
    for old in folder.glob("converse_harness-*"):
        old.unlink()
    session.run("python", "-m", "build", "--installer", "uv", "--outdir", str(folder), silent=True)
    session.run("python", "-m", "tests.house.dist", str(folder))


@nox.session(venv_backend="none")
def newest(session: nox.Session) -> None:
    """Run the sessions without exact versions with today's releases; `-- litellm typing` selects two of them."""
    tomorrow = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    os.environ["UV_EXCLUDE_NEWER"] = f"{tomorrow:%Y-%m-%d}"  # replaces the date in pyproject.toml
    for name in session.posargs or UNPINNED:
        session.notify(name, [])


@nox.session
def docs(session: nox.Session) -> None:
    """Run the examples in README, docs and docstrings."""
    install(session, extra="[test]")
    session.run(*PYTEST, "tests/examples", "--tier", "slow", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Make small changes to the product, drawn by a seed; the tests of the changed line must fail. Takes 90 minutes."""
    install(session, "cosmic-ray", extra="[test]")
    session.run("python", "-m", "tests.mutants", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Fuzz event streams, recordings, cassettes and the control API for ten minutes; needs Linux or macOS."""
    install(session, "atheris>=3", extra="[test]")
    session.run("python", "-m", "tests.fuzz", *session.posargs)


@nox.session
def drift(session: nox.Session) -> None:
    """List the facts about models that the answers in a folder contradict: `nox -s drift -- FOLDER`."""
    install(session, extra="[test]")
    session.run("python", "-m", "tests.drift", *session.posargs)


@nox.session
def flakes(session: nox.Session) -> None:
    """Run the default tier twenty times in random order, ten times with all cores busy. Takes an hour."""
    install(session, "pytest-randomly", extra="[test]")
    session.run("python", "-m", "tests.flakes", *session.posargs)


@nox.session(python=HISTORY["python"])
def history(session: nox.Session) -> None:
    """Test the releases of clients before and after the fix in a public thread; needs Node.js 20 or newer and npm."""
    node_is_there(session)
    session.install("uv")
    session.run("python", "-m", "tests.public_threads.released", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure the budgets of time, and print for each its ratio, its budget and the verdict."""
    install(session, *RIVALS)  # not [test]: its packages would make the start of pytest longer than a new user's
    if shutil.which("npm"):  # without npm, the report lists the measurements that are missing
        session.run("npm", "ci", "--prefix", "benchmarks/node", external=True)
    session.run("python", "-m", "benchmarks", *session.posargs)


@nox.session
def instructions(session: nox.Session) -> None:
    """Count the instructions of calls under callgrind, and compare them with their budgets; needs valgrind."""
    install(session, *RIVALS)
    session.run("python", "-m", "benchmarks", "--instructions")


shared: dict[str, object] = {"MATRIX": MATRIX, "ASYNCIO": ASYNCIO, "PYTEST": PYTEST}
shared |= {"install": install, "node_is_there": node_is_there, "node_packages": node_packages, "pinned": pinned}
for file in (*Path("tests").rglob("session.py"), "tests/clients/differential_session.py", "docs/_site/session.py"):
    runpy.run_path(str(file), shared)
