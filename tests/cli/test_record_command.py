"""`converse-harness record`, as a person at a terminal runs it, in processes of its own."""

from __future__ import annotations

import base64
import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import httpx
import pytest

from converse_harness import ConverseServer, recording, reply
from converse_harness.cli import main
from converse_harness.intercept.clients import ACCESS_KEY, SECRET_KEY
from converse_harness.recordings.format.read import read
from tests.cli.test_serve import PAGE
from tests.recordings.developer import KEY_ID, REGION, SECRET, TOKEN, give_access
from tests.recordings.peers import START, STREAM, body, chunk, peer
from tests.secrets.planted import in_zip
from tests.untraced import untraced

pytestmark = pytest.mark.any_answer

PNG = b"\x89PNG\r\n\x1a\n" + bytes(4999)
COMMAND = Path(sys.executable).parent / "converse-harness"
QUESTION: dict[str, Any] = {"messages": [{"role": "user", "content": [{"text": "What is it like in Zürich today?"}]}]}
AGENT = """
import boto3
client = boto3.client("bedrock-runtime")
question = {"modelId": "amazon.nova-lite-v1:0", "messages": [{"role": "user", "content": [{"text": "hello"}]}]}
print([*client.converse_stream(**question)["stream"]][-2], client.converse(**question)["stopReason"])
"""


@pytest.fixture(autouse=True)
def _developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of somebody who has access to Bedrock."""
    give_access(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def service() -> Iterator[ConverseServer]:
    """Stands for Bedrock, in another process than the command."""
    with ConverseServer() as server:
        yield server


class Recording:
    """The running command; it is killed if a line that is waited for does not come."""

    def __init__(self, *arguments: str, **options: Any) -> None:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        pipes["env"] = untraced(options.get("env", os.environ))
        self.process = subprocess.Popen([COMMAND, "record", *arguments], text=True, **pipes)
        self.watchdog = threading.Timer(60, self.process.kill)
        self.watchdog.start()
        self.head: list[str] = []
        self.page = ""
        """The URL of the live page, if this feature is there."""

    def line(self) -> str:
        assert self.process.stdout is not None
        line: str = self.process.stdout.readline()
        return line.rstrip("\n")

    @property
    def url(self) -> str:
        found = re.search(r" on (http://\S+)", self.head[0])
        assert found is not None, self.head
        return found[1]

    def ask(self, operation: str = "converse") -> httpx.Response:
        target = f"{self.url}/model/us.amazon.nova-lite-v1%3A0/{operation}"
        return httpx.post(target, json=QUESTION, timeout=30)

    def end(self, by: signal.Signals) -> tuple[int, str, str]:
        """Its exit code, what else it wrote to its output, and to its errors."""
        self.process.send_signal(by)
        out, errors = self.process.communicate(timeout=60)
        return self.process.returncode, out, errors

    def __enter__(self) -> Self:
        while self.head.count("") < 2:
            line = self.line()
            assert self.process.poll() is None or line, self.process.communicate()
            if line.startswith(PAGE):
                self.page = line.removeprefix(PAGE)
            else:
                self.head.append(line)
        return self

    def __exit__(self, *_: object) -> None:
        self.watchdog.cancel()
        self.watchdog.join()
        self.process.kill()
        self.process.communicate()


def test_it_says_where_it_is_then_a_line_for_each_call_and_what_it_wrote(service: ConverseServer, folder: Path) -> None:
    script = [reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C"), reply.throttled()]
    with service.script(*script) as real, Recording("recordings/weather.jsonl", "--upstream", real.url) as command:
        assert re.fullmatch(r"Recording on http://127\.0\.0\.1:\d+        HTTP/1\.1 and HTTP/2", command.head[0])
        assert command.head[1] == f"Calls go on to {real.url} and are written to recordings/weather.jsonl"
        keys = f"AWS_ACCESS_KEY_ID={ACCESS_KEY} AWS_SECRET_ACCESS_KEY={SECRET_KEY}"
        assert command.head[2:] == [
            "",
            f"  export AWS_ENDPOINT_URL_BEDROCK_RUNTIME={command.url}",
            f"  export AWS_BEDROCK_RUNTIME_ENDPOINT={command.url}",
            f"  export {keys} AWS_REGION={REGION} AWS_DEFAULT_REGION={REGION}",
            "",
        ]
        command.ask("converse-stream")
        assert re.fullmatch(
            r"\d\d:\d\d:\d\d  ConverseStream  us\.amazon\.nova-lite-v1:0 +\"What is it like in \.\.\.\" +"
            r"-> tool_use get_weather {\"city\": \"Bern\"} +\d+ events +\d+ ms",
            command.line(),
        )
        assert len(read(folder / "recordings" / "weather.jsonl").exchanges) == 1  # its line says that it is on disk
        assert command.ask().json()["output"]["message"]["content"] == [{"text": "18 °C"}]
        assert re.search(r'Converse  .*-> text "18 °C" +\d+ ms$', command.line())
        assert command.ask().status_code == 429
        assert re.search(r'-> ThrottlingException \(429\) "Too many r\.\.\. +\d+ ms$', command.line())
        ended = command.end(signal.SIGINT)
    assert ended == (130, "3 exchanges written to recordings/weather.jsonl.\n", "")
    assert [each.operation for each in read(folder / "recordings" / "weather.jsonl").exchanges] == [
        "ConverseStream",
        "Converse",
        "Converse",
    ]


@pytest.mark.slow
def test_an_agent_finds_it_by_what_is_exported_and_its_session_is_replayed(
    service: ConverseServer, folder: Path
) -> None:
    def agent(environ: dict[str, str]) -> str:
        return subprocess.check_output([sys.executable, "-c", AGENT], text=True, env={**os.environ, **environ})

    with service.script(reply.text("hi").times(2)) as real:
        direct = agent(real.environ)
    with service.script(reply.text("hi").times(2)) as real:
        with Recording("session.jsonl", "--upstream", real.url) as command:
            exported = dict(each.split("=", 1) for line in command.head for each in line.split() if "=" in each)
            assert agent(exported) == direct
            command.end(signal.SIGTERM)
        assert {call.headers["authorization"] for call in real.calls} == {"***"}
    with service.script(recording("session.jsonl")) as fake:
        assert agent(fake.environ) == direct


@pytest.mark.slow
@pytest.mark.parametrize(("by", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_is_still_coming_when_it_is_stopped_is_kept(folder: Path, by: signal.Signals, code: int) -> None:
    def goes_on(connection: socket.socket) -> None:
        connection.sendall(STREAM + chunk(START))
        with suppress(OSError):  # the proxy leaves in its own way
            connection.recv(1)

    def thinks(connection: socket.socket) -> None:
        asked.set()
        with suppress(OSError):  # as above
            connection.recv(1)

    asked = threading.Event()
    with peer(goes_on, thinks) as url, Recording("session.jsonl", "--upstream", url) as command:
        target = f"{command.url}/model/m/converse-stream"
        with httpx.stream("POST", target, json=QUESTION) as answer:
            pieces = answer.iter_raw()  # to drop it would be to leave
            assert next(pieces) == START
            other = threading.Thread(target=_ask_in_vain, args=(target,))
            other.start()
            assert asked.wait(10)
            exit_code, out, errors = command.end(by)
            other.join(10)
    assert (exit_code, errors) == (code, "")
    line, total = out.splitlines()
    assert line.endswith("closed by client")
    assert total == "1 exchange written to session.jsonl. Not in it: 1 call without an answer yet."
    (exchange,) = read(folder / "session.jsonl").exchanges
    assert list(exchange.lines())[-1]["end"] == "closed by client"


def _ask_in_vain(target: str) -> None:
    with suppress(httpx.HTTPError):  # the command is stopped before it answers
        httpx.post(target, json=QUESTION)


@pytest.mark.slow
def test_a_second_one_on_the_same_file_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Recording("session.jsonl", "--upstream", "http://127.0.0.1:9") as command:
        assert main(["record", "session.jsonl", "--upstream", "http://127.0.0.1:9"]) == 1
        said = f"converse-harness record: session.jsonl is being recorded by process {command.process.pid}; "
        assert capsys.readouterr().err.startswith(said)
        command.end(signal.SIGINT)
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_what_has_ended_outlives_a_kill(service: ConverseServer, folder: Path) -> None:
    script = [reply.text("one"), reply.text("la " * 1000).paced(each=0.05)]
    with service.script(*script) as real, Recording("session.jsonl", "--upstream", real.url) as command:
        command.ask("converse-stream")
        assert "one" in command.line()
        target = f"{command.url}/model/m/converse-stream"
        with httpx.stream("POST", target, json=QUESTION) as answer:
            pieces = answer.iter_raw()  # to drop it would be to leave
            assert next(pieces)
            command.process.kill()
            command.process.wait(10)
    # What held the file for this process has no call in it, and the next one removes it.
    assert sorted(each.name for each in folder.iterdir()) == ["session.jsonl", "session.unfinished.jsonl"]
    assert len((folder / "session.unfinished.jsonl").read_text(encoding="utf-8").splitlines()) == 1
    (exchange,) = read(folder / "session.jsonl").exchanges
    assert exchange.end is None
    assert "metadata" in exchange.events[-1]


@pytest.mark.slow
def test_no_secret_is_written_or_shown(service: ConverseServer, folder: Path) -> None:
    client = {"Authorization": "Bearer the-token-of-a-client", "X-Amz-Security-Token": "the-session-of-a-client"}
    arn = "arn%3Aaws%3Abedrock%3Aus-east-1%3A314159265358%3Ainference-profile%2Fx"
    with service.script(reply.text("hi")) as real, Recording("session.jsonl", "--upstream", real.url) as command:
        httpx.post(f"{command.url}/model/{arn}/converse", json=QUESTION, headers=client)
        printed = [*command.head, command.line(), *command.end(signal.SIGINT)[1:]]
    everything = "".join(printed) + (folder / "session.jsonl").read_text(encoding="utf-8")
    assert "converse" in everything
    for secret in (KEY_ID, SECRET, TOKEN, "of-a-client", "314159265358"):
        assert secret not in everything


@pytest.mark.slow
def test_new_episodes_are_added(service: ConverseServer, folder: Path) -> None:
    arguments = ("session.jsonl", "--mode", "new_episodes")
    with service.script(reply.text("one")) as real, Recording(*arguments, "--upstream", real.url) as command:
        command.ask()
        command.line()
        assert command.end(signal.SIGINT)[1] == "1 exchange written to session.jsonl.\n"
    with service.script(reply.text("two")) as real, Recording(*arguments, "--upstream", real.url) as command:
        assert [command.ask().json()["output"]["message"]["content"][0]["text"] for _ in range(2)] == ["one", "two"]
        assert '-> text "one"' in command.line()
        assert '-> text "two"' in command.line()
        assert command.end(signal.SIGINT)[1] == "1 exchange added to session.jsonl, which has 2 now.\n"
    assert len(read(folder / "session.jsonl").exchanges) == 2


@pytest.mark.slow
def test_nothing_recorded_is_said(folder: Path) -> None:
    with Recording("session.jsonl", "--upstream", "http://127.0.0.1:9") as command:
        assert command.end(signal.SIGINT) == (
            130,
            "Nothing came that could be recorded; session.jsonl was not written.\n",
            "",
        )
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_a_file_that_cannot_be_written_is_told_at_once_and_in_the_end(folder: Path) -> None:
    """Its folder goes away."""
    answers = peer(lambda connection: connection.sendall(body(b"{}")))
    elsewhere = {**os.environ, "TMPDIR": str(folder)}
    with answers as url, Recording("away/session.jsonl", "--upstream", url, env=elsewhere) as command:
        shutil.rmtree(folder / "away")
        (folder / "away").write_text("no folder", encoding="utf-8")
        assert command.ask().status_code == 200
        assert "-> Converse 200" in command.line()
        code, out, errors = command.end(signal.SIGINT)
    assert (code, out) == (1, "")
    first, last = errors.splitlines()
    assert first.startswith("converse-harness record: away/session.jsonl cannot be written: ")
    assert first.endswith(". It is tried again with the next call.")
    (kept,) = folder.glob("*/session.jsonl")
    assert last.startswith("converse-harness record: away/session.jsonl could not be written (")
    assert f"The recorded exchange is kept in {kept}: move it there, or record again." in last
    assert len(read(kept).exchanges) == 1


@pytest.mark.slow
def test_a_secret_is_masked_unless_it_is_replaced(service: ConverseServer, folder: Path) -> None:
    said = reply.text("Ask ada@example.com for AKIAQ7EXAMPLEKEYABCD.")
    with service.script(said) as real, Recording("session.jsonl", "--upstream", real.url) as command:
        command.ask("converse-stream")
        command.line()
        assert command.end(signal.SIGINT) == (
            130,
            (
                "1 exchange written to session.jsonl.\nsession.jsonl has *** in the place of a secret:\n"
                "  session.jsonl:6: contentBlockDelta.delta.text (with the lines after it): an AWS access key id\n"
            ),
            "",
        )
    lines = map(json.loads, (folder / "session.jsonl").read_text(encoding="utf-8").splitlines())
    deltas = [line["contentBlockDelta"]["delta"]["text"] for line in lines if "contentBlockDelta" in line]
    assert "".join(deltas) == "Ask ada@example.com for ***."


@pytest.mark.slow
def test_only_the_call_with_a_secret_that_cannot_be_masked_is_left_out(service: ConverseServer, folder: Path) -> None:
    """Of four calls three are on disk, and the second is named, once while it records and once in the end."""
    packed = base64.b64encode(in_zip("AKIA" + "Q7EXAMPLEKEYABCD")).decode()
    said = [reply.text(text) for text in ("one", packed, "three", "four")]
    with service.script(*said) as real, Recording("session.jsonl", "--upstream", real.url) as command:
        for _ in said:
            command.ask()
            command.line()
        code, _, errors = command.end(signal.SIGINT)
    assert code == 1
    assert errors.count("session.jsonl was written without 1 exchange") == 2
    assert errors.count("call 2, Converse: body.output.message.content[0].text: an AWS access key id, in zip") == 2
    assert "Here that is --redact 'PATTERN => REPLACEMENT'." in errors
    texts = [
        exchange.head["body"]["output"]["message"]["content"] for exchange in read(Path("session.jsonl")).exchanges
    ]
    assert texts == [[{"text": text}] for text in ("one", "three", "four")]


@pytest.mark.slow
def test_a_secret_is_replaced_as_the_command_says(service: ConverseServer, folder: Path) -> None:
    said = reply.text("Ask ada@example.com for AKIAQ7EXAMPLEKEYABCD.")
    rules = ("--redact", "ada@ => user@", "--redact", r"AKIA\w+ => a key")
    with service.script(said) as real, Recording("session.jsonl", "--upstream", real.url, *rules) as command:
        command.ask("converse-stream")
        command.line()
        assert command.end(signal.SIGINT) == (130, "1 exchange written to session.jsonl.\n", "")
    text = (folder / "session.jsonl").read_text(encoding="utf-8")
    assert "AKIA" not in text
    assert "ada@" not in text


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--keep-files"]])
def test_files_are_kept_if_the_command_says_so(options: list[str], service: ConverseServer, folder: Path) -> None:
    source = {"bytes": base64.b64encode(PNG).decode()}
    content = [{"text": "?"}, {"image": {"format": "png", "source": source}}]
    said = reply.text("A cat.")
    with service.script(said) as real, Recording("session.jsonl", "--upstream", real.url, *options) as command:
        url = f"{command.url}/model/amazon.nova-lite-v1:0/converse"
        httpx.post(url, json={"messages": [{"role": "user", "content": content}]}).raise_for_status()
        command.line()
        _, out, _ = command.end(signal.SIGINT)
    assert ("session.jsonl: 1 file in its requests is kept; " in out) == bool(options)
    assert [each.read_bytes() for each in folder.glob("*.media/*.png")] == [PNG] * len(options)
    assert ("$file" in Path("session.jsonl").read_text()) == (not options)


@pytest.mark.slow
def test_colour_is_for_terminals(folder: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    command = Recording("session.jsonl", "--upstream", "http://127.0.0.1:9", stdout=theirs, env=environment)
    with os.fdopen(ours, encoding="utf-8") as out:
        os.close(theirs)
        assert out.readline().startswith("\033[1mRecording on http://127.0.0.1:")
    command.__exit__()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("session.jsonl", "--upstream", "127.0.0.1:9"),
            "calls cannot be passed on to '127.0.0.1:9': give an http:// or",
        ),
        ((".",), ". cannot be written: Is a directory."),
        (("file/session.jsonl",), "file/session.jsonl cannot be written: "),
        (("damaged.jsonl", "--mode", "new_episodes"), "damaged.jsonl:1: "),
        (("session.jsonl", "--host", "no.such.host.invalid"), "cannot listen on no.such.host.invalid:0"),
    ],
)
def test_what_is_wrong_is_said_at_once(
    folder: Path, arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("file", "damaged.jsonl"):
        (folder / name).write_text("no recording", encoding="utf-8")
    assert main(["record", *arguments]) == 1
    out, errors = capsys.readouterr()
    assert out == ""
    assert errors.startswith("converse-harness record: ")
    assert said in errors
    assert not (folder / "session.jsonl").exists()


@pytest.mark.parametrize(
    "arguments", [(), ("a.jsonl", "--port", "x"), ("a.jsonl", "--mode", "once"), ("a.jsonl", "--redact", "(")]
)
def test_wrong_usage(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["record", *(arguments and ("a.jsonl", *arguments))])
    assert ended.value.code == 2
    assert "usage: " in capsys.readouterr().err


def test_without_credentials_it_says_what_to_set(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    assert main(["record", "session.jsonl"]) == 1
    assert "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in capsys.readouterr().err
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert main(["record", "session.jsonl"]) == 1
    assert "set AWS_REGION or AWS_DEFAULT_REGION" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_a_proxy_is_not_its_own_service(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for host in ("127.0.0.1", "localhost"):
        assert main(["record", "session.jsonl", "--port", str(port), "--upstream", f"http://{host}:{port}/x"]) == 1
        assert "is where the proxy itself listens" in capsys.readouterr().err


def test_the_help_of_redact_is_true(capsys: pytest.CaptureFixture[str]) -> None:
    check_help_of_redact("record", capsys)


def check_help_of_redact(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What the help of a command says of --redact is what happens."""
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "account ids are replaced and secrets masked without a rule" in " ".join(capsys.readouterr().out.split())
