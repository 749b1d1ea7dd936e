"""Recorded requests are asked again as they are; what cannot be asked, or gets no answer, is named."""

from __future__ import annotations

import base64
import io
import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from converse_harness import Call, Reply, faults, recording, reply
from converse_harness.cli import main
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.format.media import by_digest
from converse_harness.recordings.record.write import header, store
from tests.features.drift.provider import MODEL, Again, answering, provider, session
from tests.recordings.asking import body, exchange, throttled, user, write
from tests.recordings.developer import SECRET
from tests.recordings.peers import START, STREAM, chunk, peer
from tests.recordings.peers import body as http_body
from tests.recordings.review.test_show import check_usage
from tests.secrets.planted import in_zip

PNG: Final = base64.b64encode(b"\x89PNG" + bytes(6000)).decode()


def test_the_requests_are_asked_as_they_were_recorded(again: Again) -> None:
    first, second, _ = session()
    first[0] |= {"headers": {"x-amzn-bedrock-trace": "ENABLED"}, "query": "beta=1"}
    inference = f"arn:aws:bedrock:us-east-1::foundation-model/{MODEL}"
    second[0]["modelId"] = inference
    again.record([first, second])
    with answering() as fake:
        fake.always(reply.text("Hi."))
        again.ask(fake.url, code=1)
        asked = fake.calls
    assert [(each.operation, each.model_id) for each in asked] == [("Converse", MODEL), ("ConverseStream", inference)]
    assert [each.body for each in asked] == [first[0]["request"], second[0]["request"]]
    assert asked[0].headers["x-amzn-bedrock-trace"] == "ENABLED"
    assert [each.request.target.partition("?")[2] for each in asked] == ["beta=1", ""]
    assert "Authorization" in {name.title() for name in asked[0].headers}


def test_media_are_sent_from_their_files_and_a_request_without_its_file_is_skipped(again: Again) -> None:
    pictured = exchange(body(user({"image": {"format": "png", "source": {"bytes": PNG}}}, "What is it?")), model=MODEL)
    call, *answer = pictured
    store(again.path, [header(), call | {"call": 1}, *answer])
    (file,) = again.folder.rglob("*.png")
    edited = recording(again.path, match="order")
    with answering(edited) as fake:
        assert again.ask(fake.url) == ["No drift in 1 answer."]
        (asked,) = fake.calls
        assert asked.body["messages"] == call["request"]["messages"]
        file.unlink()
        shown, *rest = again.ask(fake.url, code=2)
        assert len(fake.calls) == 1
    assert "trip.jsonl call 1  Converse" in shown
    assert f"not asked: its media in trip.media/{file.name} cannot be read" in shown
    assert rest == ["No answer was compared.", "Not asked: 1 request."]


Skipped = Callable[[list[Line]], object]


def without_request(lines: list[Line]) -> None:
    """As `import` writes an answer whose request nobody knows."""
    lines[0] = {name: value for name, value in lines[0].items() if name not in ("request", "parts")}
    lines[0]["anyRequest"] = True


SKIPPED: Final[dict[str, tuple[Skipped, str]]] = {
    "no request": (without_request, "its request is not known"),
    "a secret": (
        lambda lines: lines[0].update(masked=["request.messages[0].content[0].text: a GitHub token"]),
        "a secret in it is masked (request.messages[0].content[0].text: a GitHub token)",
    ),
    "an account id": (
        lambda lines: lines[0].update(modelId="arn:aws:bedrock:us-east-1:111122000001:inference-profile/x"),
        "an account id in it is masked",
    ),
    "a signed URL": (
        lambda lines: lines[0]["request"]["messages"][0]["content"][0].update(text="https://x/?X-Amz-Signature=***"),
        "the signature of a URL in it is masked",
    ),
    "shortened media": (
        lambda lines: lines[0]["request"]["messages"][0]["content"].append(
            {"image": {"format": "png", "source": {"bytes": "iVBORw0..."}}}
        ),
        "its media are shortened in the recording",
    ),
    "throttled": (
        lambda lines: lines.__setitem__(1, throttled({})[1]),
        "its recorded answer is an error of that moment (429)",
    ),
    "an exception in a stream": (
        lambda lines: lines.append({"t": 500, "throttlingException": {"message": "Too many"}}),
        "its recorded answer is an error of that moment (throttlingException)",
    ),
    "no answer": (
        lambda lines: lines.__setitem__(slice(1, None), [{"t": 5, "failed": "read timeout"}]),
        "the recording has no answer (read timeout)",
    ),
    "half of an answer": (
        lambda lines: lines.append({"t": 500, "end": "closed by client"}),
        "its recorded answer is not whole (closed by client)",
    ),
    "another operation": (
        lambda lines: lines[0].update(operation="StartAsyncInvoke"),
        "StartAsyncInvoke asks no model",
    ),
}


@pytest.mark.parametrize("name", SKIPPED)
def test_what_cannot_be_asked_is_named_and_the_others_are_compared(name: str, again: Again) -> None:
    edit, reason = SKIPPED[name]
    first, second, third = session()
    edited = second if "stream" in name or "half" in name else first
    edit(edited)
    if name == "another operation":
        del first[0]["modelId"]
    again.record([first, second, third])
    with provider(again.elsewhere) as fake:
        shown, *rest = again.ask(fake.url)
        assert len(fake.calls) == 2
    assert shown.endswith(f"not asked: {reason}"), shown
    assert rest == ["No drift in 2 answers.", "Not asked: 1 request."]


def test_a_request_whose_files_are_kept_by_digest_is_named_and_skipped(again: Again) -> None:
    pictured = exchange(body(user({"image": {"format": "png", "source": {"bytes": PNG}}}, "What is it?")), model=MODEL)
    call, *answer = pictured
    store(again.path, [header(), by_digest(call | {"call": 1}), *answer])
    with answering(recording(again.path, match="order")) as fake:
        shown, *_ = again.ask(fake.url, code=2)
        assert not fake.calls
    assert "not asked: its files are kept by digest alone (messages[0].content[0].image.source.bytes)" in shown


def test_a_mask_in_the_answer_alone_is_no_reason_to_skip(again: Again) -> None:
    first, *others = session()
    first[0]["masked"] = ["body.output.message.content[0].text: a GitHub token"]
    again.record([first, *others])
    assert again.after() == ["No drift in 3 answers."]


FAILURES: Final[dict[str, tuple[Reply, str]]] = {
    "throttled": (reply.throttled(), "no answer: 429 ThrottlingException (Too many requests"),
    "no access": (
        reply.error("AccessDeniedException", "You don't have access to the model."),
        "no answer: 403 AccessDeniedException (You don't have access",
    ),
    "a failure of the service": (
        reply.error("InternalServerException", "Try\x1b[31m again."),
        "no answer: 500 InternalServerException (Try\ufffd[31m again.)",
    ),
    "broken off": (reply.text("Hi.").broken(faults.closed, after=3), "no answer: the answer is not whole (connection"),
    "an exception": (reply.text("Hi.").fails_after(2, "throttlingException"), "no answer: "),
}


@pytest.mark.parametrize(("given", "shown"), FAILURES.values(), ids=FAILURES)
def test_without_an_answer_it_is_not_known(given: Reply, shown: str, again: Again) -> None:
    _, second, _ = session()
    again.record([second])
    with answering() as fake:
        fake.always(given)
        line, *rest = again.ask(fake.url, code=2)
    assert shown in line
    assert rest == ["No answer was compared.", "No answer to 1 request: whether these have drifted is not known."]


def test_a_drift_counts_more_than_an_answer_that_did_not_come(again: Again) -> None:
    with provider(again.elsewhere, lambda exchanges: exchanges[0][1]["body"].pop("usage")) as fake:
        fake.when(operation="ConverseStream").always(reply.throttled())
        *_, drifted, unknown = again.ask(fake.url, code=1)
    assert drifted == "1 of 2 answers has drifted: 1 in usage."
    assert unknown == "No answer to 1 request: whether these have drifted is not known."


def test_no_drift_and_no_answer_is_not_known(again: Again) -> None:
    with provider(again.elsewhere) as fake:
        fake.when(operation="ConverseStream").always(reply.throttled())
        _, *rest = again.ask(fake.url, code=2)
    assert rest == ["No drift in 2 answers.", "No answer to 1 request: whether these have drifted is not known."]


def test_an_answer_with_a_secret_that_cannot_be_masked_is_not_compared(again: Again) -> None:
    again.record(session()[:1])
    image = {"image": {"format": "png", "source": {"bytes": base64.b64encode(in_zip(f"key={SECRET}")).decode()}}}
    answer = {"output": {"message": {"content": [image], "role": "assistant"}}, "stopReason": "end_turn"}
    with peer(lambda connection: connection.sendall(http_body(json.dumps(answer).encode()))) as url:
        line, *_ = again.ask(url, code=2)
    assert "no answer: the answer has a secret that cannot be masked (body" in line


def test_after_a_refused_connection_nothing_more_is_asked(again: Again) -> None:
    with peer(lambda _: None) as url:
        pass  # from here on, nothing listens there
    line, *rest = again.ask(url, code=2)
    assert line.endswith("trip.jsonl call 1  Converse " + MODEL + "  no answer: connection refused")
    assert rest == [
        "No answer was compared.",
        "No answer to 1 request, and 2 after it were not asked: whether these have drifted is not known.",
    ]


def test_a_stream_that_is_damaged_is_a_drift(again: Again) -> None:
    _, second, _ = session()
    again.record([second])
    damaged = STREAM + chunk(START) + chunk(b"bytes of no frame at all") + chunk(b"")
    with peer(lambda connection: connection.sendall(damaged)) as url:
        _, first, *others = again.ask(url, code=1)
    assert first == "  form   event contentBlockDelta, contentBlockStop -> bytes that are no event"
    assert "  form   event messageStop is missing" in others


def test_the_body_of_another_server_is_a_drift(again: Again) -> None:
    first, *_ = session()
    again.record([first])
    with peer(lambda connection: connection.sendall(http_body(b"<html>"))) as url:
        lines = again.ask(url, code=1)
    assert "  form   bodyText is new" in lines


def test_invoke_model_is_compared_as_well(again: Again) -> None:
    def invoked(operation: str) -> list[Line]:
        return [{"call": 0, "operation": operation, "modelId": MODEL, "request": {"messages": []}}]

    def chunked(value: str) -> Line:
        return {"t": 9, "chunk": {"bytes": base64.b64encode(value.encode()).decode()}, "p": 2}

    pieces = [chunked(f'{{"type":"delta","text":"{each}"}}') for each in ("H", "i", ".")]
    answer = {"id": "msg_bdrk_01Gt8nKbvCzLDnCeTqGHVBiY", "content": "Hi.", "stop_reason": None}
    recorded: list[list[Line]] = [
        [*invoked("InvokeModel"), {"t": 5, "status": 200, "body": answer}],
        [
            *invoked("InvokeModelWithResponseStream"),
            {"t": 5, "status": 200},
            chunked('{"type":"message_start"}'),
            *pieces,
        ],
    ]
    again.record(recorded)
    with answering(recording(again.path, match="order")) as fake:
        assert again.ask(fake.url) == ["No drift in 2 answers."]
    recorded[1][3:] = [chunked('{"type":"delta","text":"Hi."}')]
    write(again.elsewhere / "provider.jsonl", *recorded)
    with answering(recording(again.elsewhere / "provider.jsonl", match="order")) as fake:
        assert again.ask(fake.url) == ["No drift in 2 answers."]
    now = [[*each] for each in recorded]
    now[0][1] = {"t": 5, "status": 200, "body": answer | {"content": "Ho.", "model": "x"}}
    now[1][3:] = [chunked('{"type":"delta","text":"Ho"}'), chunked('{"type":"other","text":"."}')]
    path = write(again.elsewhere / "provider.jsonl", *now)
    with answering(recording(path, match="order")) as fake:
        lines = again.ask(fake.url, code=1)
    assert [line for line in lines if line.startswith("  ")] == ["  form   model is new", "  form   event chunk is new"]
    assert lines[-2:] == ["2 of 2 answers have drifted: 2 in form.", "The content of 2 answers differs, as it may."]


def test_a_secret_in_a_new_answer_is_not_printed(again: Again) -> None:
    with provider(again.elsewhere) as fake:
        fake.when(last_user_text=" ").always(reply.error("ValidationException", f"Not with {SECRET}."))
        lines = again.ask(fake.url, code=1)
    assert "Not with ***" in "\n".join(lines)
    assert SECRET not in "\n".join(lines)


def test_the_users_replacements_are_made_before_the_answers_are_compared(again: Again) -> None:
    def named(words: str) -> Callable[[Any], object]:
        return lambda exchanges: exchanges[2][1].update(body={"message": words})

    recorded = session()
    named("Not for customer-1.")(recorded)
    again.record(recorded)
    with provider(again.elsewhere, named("Not for customer-4711.")) as fake:
        again.ask(fake.url, code=1)
    with provider(again.elsewhere, named("Not for customer-4711.")) as fake:
        assert again.ask(fake.url, "--redact", r"customer-\d+ => customer-1") == ["No drift in 3 answers."]


def test_several_recordings_in_folders(again: Again) -> None:
    (again.folder / "below").mkdir()
    again.record(session()[:1], "below/first.jsonl")
    with answering() as fake:
        fake.always(reply.throttled())
        lines = again.ask(fake.url, code=2)
    assert [Path(line.split(" ")[0]).name for line in lines[:4]] == ["first.jsonl", *["trip.jsonl"] * 3]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--again", "trip.jsonl"], "record --again: add --diff, which compares the answers and writes nothing."),
        (["--diff"], "--diff needs --again FILE"),
        (["a.jsonl", "--again", "trip.jsonl", "--diff"], "FILE or --again FILE, not both"),
        (["--again", "gone.jsonl", "--diff"], "gone.jsonl: is not there"),
        (["--again", "trip.jsonl", "--diff", "--redact", "x"], "--redact: 'x'; a line is"),
        (["--again", "--diff"], "argument --again: expected at least one argument"),
        ([], "the following arguments are required: FILE"),
    ],
)
def test_wrong_usage(
    arguments: list[str],
    error: str,
    again: Again,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(again.folder)
    check_usage(capsys, ["record", *arguments], " record", "")
    with pytest.raises(SystemExit):
        main(["record", *arguments])
    assert error in capsys.readouterr().err


def test_without_keys_and_for_a_damaged_file_it_is_not_known(again: Again, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "fake")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(again.elsewhere / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(again.elsewhere / "none"))
    (line,) = again.ask("http://127.0.0.1:9", code=2)
    assert line.startswith("converse-harness record: there are no credentials to sign with")
    (again.folder / "a.jsonl").mkdir()
    (line,) = again.ask("http://127.0.0.1:9", code=2)
    assert line.endswith("a.jsonl: Is a directory")
    (again.folder / "a.jsonl").rmdir()
    again.path.write_text('{"format": "other"}\n')
    (line,) = again.ask("http://127.0.0.1:9", code=2)
    assert "trip.jsonl:1: " in line


@pytest.mark.skipif(os.name != "posix", reason="only POSIX sends a signal to a thread")
def test_ctrl_c_leaves_nothing_behind(again: Again) -> None:
    asked = threading.Event()

    def interrupt(call: Call) -> Reply:
        del call
        asked.set()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        return reply.text("Hi.").paced(first=30)

    with answering() as fake:
        fake.always(interrupt)
        assert again.ask(fake.url, code=130) == []
    assert asked.is_set()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("patience", "shown"), [(-1.0, True), (1000.0, False)])
def test_progress_is_for_what_takes_its_time(
    patience: float, shown: bool, again: Again, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("converse_harness.cli.terminal._PATIENCE", patience)
    monkeypatch.setattr("sys.stderr", err := Terminal())
    with provider(again.elsewhere) as fake:
        again.ask(fake.url)
    each = "\r{} of 3 requests\r\033[K"
    assert err.getvalue() == ("".join(map(each.format, (1, 2, 3))) if shown else "")
