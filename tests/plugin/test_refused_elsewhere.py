"""Calls that are refused in another process, or after their fake has closed: a test fails of them, or the run."""

import socket

import pytest

from tests.nested import XDIST
from tests.plugin.test_session_guard import HOST, NETWORK

SWALLOW = """
import multiprocessing, socket, threading
import httpx
from agent import ask

def swallow(*_):
    try:
        ask("hi")
    except BaseException:
        pass

def by_httpx(*_):
    try:
        httpx.post("https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse")
    except BaseException:
        pass

def started(method, target):
    process = multiprocessing.get_context(method).Process(target=target)
    process.start()
    process.join()

def pooled(method, target, **options):
    with multiprocessing.get_context(method).Pool(1, **options) as pool:
        pool.map(target, [1])
"""


@pytest.fixture(autouse=True)
def _keys_and_network(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are keys, a worker finds the modules of the project, and NETWORK does not stay after a run."""
    monkeypatch.setattr(socket, "getaddrinfo", socket.getaddrinfo)
    monkeypatch.setenv("PYTHONPATH", str(project.path))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "real")


def run(project: pytest.Pytester, test: str, *args: str, apart: bool = False) -> pytest.RunResult:
    project.makepyfile(swallowing=SWALLOW, network=NETWORK)
    project.makepyfile(f"import atexit, os, threading, network, pytest\nfrom swallowing import *\n{test}")
    start = project.runpytest_subprocess if apart else project.runpytest_inprocess
    return start("-p", "no:cacheprovider", "-p", "no:randomly", *args)


WORKERS = [
    "started('fork', by_httpx)",
    "pooled('fork', swallow, maxtasksperchild=1)",
    *(
        pytest.param(f"{start}('{method}', {target})", marks=pytest.mark.slow)
        for method in ("fork", "spawn", "forkserver")
        for start in ("started", "pooled")
        for target in ("swallow", "by_httpx")
    ),
]


@pytest.mark.parametrize("call", WORKERS)
def test_a_worker_that_swallows_its_refusal_fails_the_test_that_started_it(project: pytest.Pytester, call: str) -> None:
    result = run(project, f"def test_it(converse): {call}\ndef test_another(converse): pass", apart=True)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines([f"E*BlockedConnection: *a call to Bedrock ({HOST}) from process *"])


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_so_does_a_worker_that_is_older_than_the_fake(project: pytest.Pytester, method: str) -> None:
    test = f"""
from concurrent.futures import ProcessPoolExecutor
pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("{method}"))
pool.submit(os.getpid).result(60)
def test_it(converse):
    pool.submit(by_httpx).result(60)
def test_ends(): pool.shutdown()
"""
    result = run(project, test, apart=True)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines([f"E*BlockedConnection: *({HOST}) from process *, a worker that was started before*"])


def test_so_does_a_fork_under_the_guard_of_the_session(project: pytest.Pytester) -> None:
    result = run(project, "def test_it(): started('fork', by_httpx)\ndef test_b(): pass", "--converse-guard=session")
    result.assert_outcomes(failed=1, passed=1)


LATE = """
from converse_harness import fake_converse, reply
go, gone = threading.Event(), threading.Event()

def late():
    go.wait(30)
    swallow()
    gone.set()

def start():
    with fake_converse():
        threading.Thread(target=late, name="late one").start()

def refuse():
    go.set()
    assert gone.wait(30)
"""
TOLD = "thread 'late one' made a call to Bedrock after*had closed*"


def test_a_late_call_fails_the_test_that_still_runs(project: pytest.Pytester) -> None:
    result = run(project, f"{LATE}\ndef test_it(): start(); refuse()\ndef test_b(): pass")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines([f"E*BlockedConnection: {TOLD}"])
    result.stdout.no_fnmatch_line("*= converse guard =*")


@pytest.mark.parametrize("workers", [(), pytest.param((*XDIST, "-n", "1"), marks=pytest.mark.slow)])
def test_otherwise_the_run_fails(project: pytest.Pytester, workers: tuple[str, ...]) -> None:
    result = run(project, f"{LATE}\ndef test_it(): start()\ndef test_b(): refuse()", *workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*= converse guard =*", TOLD])


REFUSE = "import sys\ndef {}(): next(each for each in sys.modules.values() if hasattr(each, 'gone')).refuse()"


def test_a_late_call_while_the_summary_is_printed_fails_the_run(project: pytest.Pytester) -> None:
    project.makeconftest(REFUSE.format("pytest_terminal_summary"))
    result = run(project, f"{LATE}\ndef test_it(): start()")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*= converse guard =*", TOLD])


@pytest.mark.slow
def test_a_late_call_behind_the_summary_is_printed(project: pytest.Pytester) -> None:
    project.makeconftest(REFUSE.format("pytest_unconfigure"))
    result = run(project, f"{LATE}\ndef test_it(): start()", apart=True)
    result.assert_outcomes(passed=1)
    result.stderr.fnmatch_lines([f"converse-harness refused a call after the end of the run: {TOLD}"])


def test_the_thread_of_a_fake_is_refused_again_after_a_test_that_turns_the_guard_off(project: pytest.Pytester) -> None:
    test = f"""{LATE}
def test_it(): start()
@pytest.mark.converse(guard="off")
def test_off(): pass
def test_later():
    refuse()
    assert network.asked == []
"""
    result = run(project, test, "--converse-guard=session")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines([TOLD])


AFTER = """
def tell():
    swallow()
    print("asked", network.asked, flush=True)

def wait():
    threading.main_thread().join()
    tell()

def test_it():
    atexit.register(tell)
    threading.Thread(target=wait, name="plain").start()
"""


def test_the_guard_of_the_session_lasts_until_the_interpreter_ends(project: pytest.Pytester) -> None:
    result = run(project, AFTER, "--converse-guard=session", apart=True)
    assert result.stdout.str().count("asked []") == 2, result.stdout.str()
    said = f"converse-harness refused a call after the end of the run: *{HOST} outside of a test*"
    result.stderr.fnmatch_lines([said])


def test_a_program_that_has_run_pytest_is_free_again(project: pytest.Pytester) -> None:
    program = project.makepyfile(
        program="""
        import network, pytest, swallowing
        assert pytest.main(["-q", "-p", "no:cacheprovider", "--converse-guard=session", "test_free.py"]) == 0
        swallowing.by_httpx()
        print("asked", network.asked, flush=True)
        """
    )
    project.makepyfile(swallowing=SWALLOW, network=NETWORK, test_free="def test_it(): pass")
    project.runpython(program).stdout.fnmatch_lines([f"asked ['{HOST}'*"])
