"""`converse-harness serve`, as a person at a terminal and as a script run it."""

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from converse_harness import reply
from converse_harness.cli import main
from converse_harness.cli.server_output import CannotServe, Ended, Watcher, call_next, load
from converse_harness.intercept.clients import ACCESS_KEY, REGION, SECRET_KEY
from tests.untraced import untraced

COMMAND = Path(sys.executable).parent / "converse-harness"
BODY: dict[str, Any] = {"messages": [{"role": "user", "content": [{"text": "What is it like in Zürich today?"}]}]}
TOOLS: Final = [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": {"type": "object"}}}}]
TWO_REPLIES = """\
from converse_harness import reply

script = [reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C")]
"""


PAGE = "Its calls, in a browser: "


class Serving:
    """The running command; it is killed if a line that is waited for does not come."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.head: list[str] = []
        self.page = ""
        """The URL of the live page, if this feature is there."""

    def line(self) -> str:
        """The next line of its output."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def start(self) -> None:
        """Wait until it serves: there is an empty line in its head, and one after it."""
        while self.head.count("") < 2:
            line = self.line()
            if line.startswith(PAGE):
                self.page = line.removeprefix(PAGE)
            else:
                self.head.append(line)

    @property
    def url(self) -> str:
        found = re.search(r"on (http://\S+)", self.head[0])
        assert found is not None, self.head
        return found[1]

    def ask(self, operation: str = "converse", prefix: str = "", **more: Any) -> httpx.Response:
        target = f"{prefix}/model/us.amazon.nova-lite-v1%3A0/{operation}"
        return httpx.post(self.url + target, json={**BODY, **more}, trust_env=False)

    def end(self, by: signal.Signals) -> tuple[int, str]:
        """Its exit code and what it wrote to its errors."""
        self.process.send_signal(by)
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


@contextmanager
def serving(*arguments: str | Path, started: bool = True, **options: Any) -> Iterator[Serving]:
    # Unbuffered, as some machines set Python, nothing would need to be flushed.
    environment = {name: value for name, value in untraced().items() if name != "PYTHONUNBUFFERED"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment, **options}
    process = subprocess.Popen([COMMAND, "serve", *map(str, arguments)], text=True, **pipes)
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    try:
        served = Serving(process)
        if started:
            served.start()
        yield served
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, "serve", *arguments], capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(autouse=True)
def _path_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is loaded in this process may import what lies beside it, as in the command's own."""
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with two replies, in the working folder."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "weather.py"
    file.write_text(TWO_REPLIES, encoding="utf-8")
    return file


def test_it_says_where_it_is_and_what_to_export_and_then_a_line_for_every_call(script: Path) -> None:
    with serving(script.name) as served:
        assert re.fullmatch(
            r"Serving 1 script \(2 replies\) on http://127\.0\.0\.1:\d+        HTTP/1\.1 and HTTP/2", served.head[0]
        )
        keys = f"AWS_ACCESS_KEY_ID={ACCESS_KEY} AWS_SECRET_ACCESS_KEY={SECRET_KEY}"
        assert served.head[1:] == [
            "",
            f"  export AWS_ENDPOINT_URL_BEDROCK_RUNTIME={served.url}",
            f"  export AWS_BEDROCK_RUNTIME_ENDPOINT={served.url}",
            f"  export {keys} AWS_REGION={REGION} AWS_DEFAULT_REGION={REGION}",
            "",
        ]
        served.ask("converse-stream", toolConfig={"tools": TOOLS})
        assert re.fullmatch(
            r"\d\d:\d\d:\d\d  ConverseStream  us\.amazon\.nova-lite-v1:0 +\"What is it like in \.\.\.\" +"
            r"-> tool_use get_weather {\"city\": \"Bern\"} +6 events +\d+ ms",
            served.line(),
        )
        assert served.ask().json()["output"]["message"]["content"] == [{"text": "18 °C"}]
        assert re.search(r'Converse  .*-> text "18 °C" +\d+ ms$', served.line())
        refused = served.ask()
        assert refused.status_code == 400
        assert re.search(r"-> UNEXPECTED 400: call 3 has no reply left\. +\d+ ms$", served.line())
        assert served.end(signal.SIGINT) == (130, "")


@pytest.mark.slow
def test_a_client_finds_it_by_what_is_exported(script: Path) -> None:
    agent = (
        "import boto3; client = boto3.client('bedrock-runtime'); "
        f"print(client.converse(modelId='m', messages={BODY['messages']!r})['stopReason'])"
    )
    with serving(script.name) as served:
        exports = "\n".join(served.head[2:])
        done = subprocess.run(
            ["sh", "-c", f'{exports}\n"$0" -c "$1"', sys.executable, agent],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.stdout, done.stderr) == ("tool_use\n", "")
        assert "-> tool_use get_weather" in served.line()


def test_the_calls_that_are_kept_are_bounded() -> None:
    with serving("--case", "text_basic", "--keep-calls", "2") as served:
        for _ in range(3):
            served.ask()
        page = httpx.get(f"{served.url}/__converse/fakes/root/calls", trust_env=False).json()
        assert ([call["number"] for call in page["calls"]], page["received"], page["dropped"]) == ([2, 3], 3, 1)


def test_a_name_that_is_allowed_reaches_the_control_api() -> None:
    with serving("--allow-host", "fake.internal") as served:
        api = f"{served.url}/__converse/fakes"
        named = [{"host": host} for host in ("fake.internal:8080", "localhost", "other.internal")]
        assert [httpx.get(api, headers=each, trust_env=False).status_code for each in named] == [200, 200, 403]


def test_a_host_that_cannot_be_one_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--allow-host", "http://fake.internal:80"])
    assert "'http://fake.internal:80' is no host; it is a name such as" in capsys.readouterr().err


def test_without_a_file_there_is_the_control_api_and_its_fakes_are_named() -> None:
    with serving() as served:
        assert served.head[0].startswith(f"Serving the control API on {served.url}        HTTP/1.1 and HTTP/2")
        assert served.head[2].startswith(f"  POST {served.url}/__converse/fakes opens a fake; ")
        assert served.ask().status_code == 404
        opened = httpx.post(f"{served.url}/__converse/fakes", json={"script": [{"text": "hi"}]}, trust_env=False).json()
        served.ask("converse-stream", prefix=f"/{opened['id']}")
        assert re.search(rf'  {opened["id"]} ConverseStream .*-> text "hi" +\d events +\d+ ms$', served.line())
        closed = httpx.delete(f"{served.url}/__converse/fakes/{opened['id']}", trust_env=False).json()
        assert closed["ok"] is True
        assert served.end(signal.SIGTERM) == (143, "")


def test_the_file_may_have_functions_and_modules_beside_it_and_be_a_script(script: Path) -> None:
    script.with_name("words.py").write_text("GREETING = 'hi'", encoding="utf-8")
    script.write_text(
        "from words import GREETING\n"
        "from converse_harness import reply\n"
        "from converse_harness.endpoint.condition import Condition\n"
        "from converse_harness.endpoint.script import Script\n"
        "script = Script()\n"
        "script.when(Condition(operation='ConverseStream')).add([reply.throttled()], endless=True)\n"
        "script.fallback.add([lambda call: reply.text(f'{GREETING} {call.last_user_text}')], endless=True)\n",
        encoding="utf-8",
    )
    with serving(script) as served:
        assert "Serving 1 script (2 replies)" in served.head[0]
        assert "hi What is it like" in served.ask().text
        assert served.ask("converse-stream").status_code == 429
        assert '-> text "hi What is it like' in served.line()
        assert "-> ThrottlingException (429) " in served.line()


def test_reload_serves_the_changed_file_and_keeps_the_old_one_while_it_is_broken(script: Path) -> None:
    with serving(script.name, "--reload") as served:
        assert served.ask().json()["stopReason"] == "tool_use"
        served.line()
        save(script, TWO_REPLIES.replace("reply.tool_use", "reply.no_such"))
        assert re.search(r"  weather\.py:3: AttributeError: .* has no attribute 'no_such'$", served.line())
        assert served.line().strip() == "The script from before is served on."
        assert "18 °C" in served.ask().text
        served.line()
        save(script, TWO_REPLIES.replace("18 °C", "20 °C").replace("]\n", ", reply.text('c')]\n"))
        assert served.line().endswith("  weather.py has changed: serving 1 script (3 replies) from the beginning")
        assert served.ask().json()["stopReason"] == "tool_use"
        assert "20 °C" in served.ask().text
        assert served.end(signal.SIGINT) == (130, "")


def test_reload_under_steady_traffic(script: Path) -> None:
    script.write_text("from converse_harness import reply\n\nalways = reply.text('a')\n", encoding="utf-8")
    over = threading.Event()

    def traffic() -> None:
        with httpx.Client(trust_env=False) as client:
            while not over.is_set():
                client.post(f"{served.url}/model/m/converse", json=BODY)

    with serving(script.name, "--reload") as served, ThreadPoolExecutor() as pool:
        asking = pool.submit(traffic)
        try:
            assert '-> text "a"' in served.line()
            save(script, "from converse_harness import reply\n\nalways = reply.text('b')\n")
            assert any("weather.py has changed" in served.line() for _ in range(500))
        finally:
            over.set()
            asking.result()


def test_a_signal_whose_wake_up_is_lost_ends_it_all_the_same() -> None:
    waiting = threading.Thread(target=call_next, args=(Ended(),), daemon=True)
    waiting.start()
    waiting.join(10)
    assert not waiting.is_alive()  # between two waits, Python handles signals


def save(file: Path, text: str) -> None:
    """Put a new file in the place of the old one, as editors do."""
    new = file.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(file)


def test_a_watcher_waits_out_a_file_that_is_away(script: Path) -> None:
    watcher = Watcher(script)
    assert watcher.changed() is False
    script.unlink()
    assert watcher.changed() is False
    script.write_text("script = []", encoding="utf-8")
    assert [watcher.changed(), watcher.changed()] == [True, False]


@pytest.mark.parametrize("by", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_it_ends_in_the_middle_of_a_stream_and_leaves_nothing(script: Path, by: signal.Signals) -> None:
    script.write_text(
        "from converse_harness import reply\nscript = [reply.text('a b c').paced(each=3600)]", encoding="utf-8"
    )
    with serving(script) as served:
        with (
            httpx.Client(trust_env=False) as client,
            client.stream("POST", f"{served.url}/model/m/converse-stream", json=BODY) as stream,
        ):
            parts = stream.iter_raw()
            next(parts)
            served.process.send_signal(by)
            with pytest.raises(httpx.TransportError):
                list(parts)
        assert re.search(r'-> text "a b c" .* 1 event +\d+ ms  cut$', served.line())
        assert served.line() == ""
        assert served.process.wait(timeout=60) == 128 + by
        port = int(served.url.rpartition(":")[2])
        with closing(socket.socket()) as probe:
            assert probe.connect_ex(("127.0.0.1", port)) != 0
    assert sorted(path.name for path in script.parent.iterdir() if path.name != "__pycache__") == ["weather.py"]


@pytest.mark.slow
def test_a_function_that_hangs_does_not_keep_it(script: Path) -> None:
    script.write_text(
        "import threading\n\ndef hangs(call):\n    print('asked', flush=True)\n    threading.Event().wait()\n\n"
        "script = [hangs]",
        encoding="utf-8",
    )
    with serving(script) as served, ThreadPoolExecutor() as threads:
        asking = threads.submit(served.ask)
        assert served.line() == "asked"
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(timeout=60) == 143
        with pytest.raises(httpx.TransportError):
            asking.result()


@pytest.mark.slow
def test_a_reader_that_leaves_is_exit_code_1(script: Path) -> None:
    with serving(script) as served:
        assert served.process.stdout is not None
        served.process.stdout.close()
        served.ask()
        assert served.process.stderr is not None
        assert (served.process.wait(timeout=60), served.process.stderr.read()) == (1, "")
        served.process.stdout = None


@pytest.mark.slow
def test_its_port_and_host_are_as_asked() -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("--port", str(port))
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(
            f"converse-harness serve: the loopback server cannot listen on 127.0.0.1:{port}: "
        )
        assert done.stderr.endswith("Choose another port, or 0 for a free one\n")
    with serving("--port", str(port)) as served:
        assert served.url == f"http://127.0.0.1:{port}"
        assert served.end(signal.SIGINT) == (130, "")
    with serving("--host", "0.0.0.0") as served:
        assert served.url.startswith("http://0.0.0.0:")
        code, errors = served.end(signal.SIGINT)
        assert errors.startswith("converse-harness serve: warning: the server listens on 0.0.0.0, which other machines")
        assert (code, errors.count("\n")) == (130, 1)


WRONG_FILES = {
    "": "weather.py: defines no `script`; it must be a list of replies or a Script:\n\n    from ",
    "script = 5": "weather.py: defines `script` as int; it must be a list of replies or a Script:",
    "script = ['hi']": "weather.py: script[0]: 'hi' is not a reply. Write one with reply.text(...) or its like, ",
    "x = 1\nscript = [": "weather.py:2: SyntaxError: '[' was never closed",
    "\n\nimport no_such_module": "weather.py:3: ModuleNotFoundError: No module named 'no_such_module'",
    "from converse_harness import reply\nscript = [\n  reply.text('a').times(0)]": "weather.py:3: ReplyError: times(",
    "def f():\n  raise KeyError('x')\n\nf()": "weather.py:2: KeyError: 'x'",
    "exit()": "weather.py:1: SystemExit",
    "\x00": "weather.py",
    "# coding: nonsense": "weather.py:0: SyntaxError: ",
}


@pytest.mark.parametrize("content", WRONG_FILES)
def test_a_wrong_file_is_told_with_its_line(script: Path, content: str) -> None:
    script.write_text(content, encoding="utf-8")
    with pytest.raises(CannotServe) as raised:
        load(Path(script.name))
    assert str(raised.value).startswith(WRONG_FILES[content])


def test_a_file_that_cannot_be_served_is_exit_code_1(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text("script = 5", encoding="utf-8")
    done = run(script.name)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("converse-harness serve: weather.py: defines `script` as int; ")
    assert main(["serve", "nowhere.py"]) == 1
    assert capsys.readouterr() == (
        "",
        "converse-harness serve: nowhere.py: cannot be read: No such file or directory.\n",
    )


@pytest.mark.parametrize("arguments", [("--port", "x"), ("--port", "65536"), ("--reload",), ("a", "b"), ("--fast",)])
def test_wrong_usage_is_exit_code_2(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", *arguments])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: converse-harness")


@pytest.mark.slow
def test_colour_is_for_terminals(script: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with (
        serving(script, started=False, stdout=theirs, env=environment) as served,
        os.fdopen(ours, encoding="utf-8") as out,
    ):
        os.close(theirs)
        served.head = [out.readline()]
        while served.head.count("\n") < 2:
            served.head.append(out.readline())
        assert served.head[0].startswith("\033[1mServing 1 script")
        for _ in range(3):
            served.ask()
        lines = [out.readline() for _ in range(3)]
        assert [line.startswith("\033[31m") for line in lines] == [False, False, True]
        assert "UNEXPECTED" in lines[2]
    with serving(script) as served:
        for _ in range(3):
            served.ask()
        assert "\033" not in "".join([*served.head, *(served.line() for _ in range(3))])


@pytest.mark.slow
def test_nothing_that_a_client_sends_disturbs_the_lines(script: Path) -> None:
    script.write_text("from converse_harness import reply\nscript = [reply.text('a')]", encoding="utf-8")
    body = json.dumps({"messages": [{"role": "user", "content": [{"text": "\ud800 \x1b[2J\n 東京"}]}]}).encode()
    secret = "arn%3Aaws%3Abedrock%3Aus-east-1%3A314159265358%3Ainference-profile%2Fx"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    with serving(script, env=environment) as served:
        for target, content in (
            ("model/m%1b[2J%0A/converse", body),
            ("model/m/converse", b"5"),
            ("model/m/converse", b'{"messages": [{"role": "user", "content": [{"text": 5}]}]}'),
            (f"model/{secret}/invoke", b"{}"),
            ("%1b[2J?x", b""),
        ):
            httpx.post(f"{served.url}/{target}", content=content, trust_env=False)
        lines = [served.line() for _ in range(5)]
        assert all(re.match(r"\d\d:\d\d:\d\d  ", line) and line.isprintable() and line.isascii() for line in lines)
        assert ":***:" in lines[3]
        assert served.end(signal.SIGINT) == (130, "")


def test_a_reply_list_is_not_changed_by_loading(script: Path) -> None:
    assert [slot.summary for _, slot in load(script).slots()] == [
        reply.tool_use("get_weather", {"city": "Bern"}).summary,
        'text "18 °C"',
    ]


def test_a_case_answers_every_call() -> None:
    with serving("--case", "overflow_pre") as served:
        assert served.head[0].startswith("Serving the case overflow_pre on http://")
        for _ in range(3):
            answer = served.ask()
            assert (answer.status_code, answer.json()) == (400, {"message": "Input is too long for requested model."})
        assert "ValidationException" in served.line()


@pytest.mark.slow
def test_a_case_of_several_replies_goes_round() -> None:
    with serving("--case", "throttle_pre") as served:
        assert [served.ask().status_code for _ in range(7)] == [429, 429, 200, 429, 429, 200, 429]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--case", "overflw_pre"), 2, "no case is called 'overflw_pre'. Near it: overflow_pre, "),
        (("weather.py", "--case", "overflow_pre"), 2, "FILE or --case, not both"),
        (("--case", "overflow_pre", "--reload"), 2, "needs the FILE that it watches"),
        (("--case", "connection_refused"), 1, "the server transport cannot express the fault connection_refused"),
    ],
)
def test_a_case_that_cannot_be_served(
    arguments: tuple[str, ...], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    done: object
    try:
        done = main(["serve", *arguments])
    except SystemExit as ended:
        done = ended.code
    assert done == code
    assert said in capsys.readouterr().err
