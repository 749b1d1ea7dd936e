"""`converse-harness import`: single cassettes and whole folders, what it says of them, and its exit codes."""

import base64
import gzip
import io
import json
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from converse_harness import recording, reply
from converse_harness.cli import main
from converse_harness.features.cassettes.other_tools import OTHER_KINDS
from converse_harness.features.cassettes.read import READ
from tests.cli.test_record_command import check_help_of_redact
from tests.features.cassettes.hand_made import ANSWER, BEDROCK, MEND, NOVA, interaction, written
from tests.recordings.review.test_show import check_usage
from tests.secrets.planted import in_zip


def folder_of_cassettes(root: Path) -> None:
    """A folder as projects have them."""
    ours = interaction({"body": {"string": ANSWER}})
    theirs = interaction({}, "https://api.openai.com/v1/chat/completions")
    parsed = interaction({"parsed_body": {"message": "no"}, "status": {"code": 400}})
    written(root, ours, theirs, parsed, name="test_agent/test_mixed[v1].yaml")
    written(root, ours, ours, name="test_agent/test_two.yml")
    written(root, theirs, theirs, name="test_other.yaml")
    written(root, ours, interaction({}, "http://localhost:4000/"), name="test_zipped.yaml")
    zipped = root / "test_zipped.yaml"
    Path(f"{zipped}.gz").write_bytes(gzip.compress(zipped.read_bytes()))
    zipped.unlink()
    (root / "settings.json").write_text('{"not": "a cassette"}')
    (root / "notes.txt").write_text("nor this")


def test_a_folder_is_mirrored_and_the_report_says_what_became_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder_of_cassettes(Path("tests/cassettes"))
    assert main(["import", "tests/cassettes", "-o", "recordings/"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines() == [
        (
            "tests/cassettes/test_agent/test_mixed[v1].yaml -> recordings/test_agent/test_mixed[v1].jsonl: "
            "2 exchanges, 1 equal byte for byte, 1 re-serialised; 1 left alone"
        ),
        (
            "tests/cassettes/test_agent/test_two.yml -> recordings/test_agent/test_two.jsonl: "
            "2 exchanges, 2 equal byte for byte"
        ),
        (
            "tests/cassettes/test_zipped.yaml.gz -> recordings/test_zipped.jsonl: "
            "1 exchange, 1 equal byte for byte; 1 left alone"
        ),
        "5 exchanges in 3 recordings: 4 equal byte for byte, 1 re-serialised.",
        "Re-serialised: the file holds parsed JSON and no bytes; spacing and order of keys are ours.",
        "Nothing of Bedrock in 2 files.",
        "4 interactions left alone: 3 to api.openai.com, 1 to localhost:4000.",
    ]
    made = sorted(str(each) for each in Path("recordings").rglob("*") if each.is_file())
    assert made == [
        "recordings/test_agent/test_mixed[v1].jsonl",
        "recordings/test_agent/test_two.jsonl",
        "recordings/test_zipped.jsonl",
    ]
    assert [len(recording(each).exchanges) for each in made] == [2, 2, 1]


def test_what_could_not_be_imported_is_said_and_the_rest_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    good = interaction({"body": {"string": ANSWER}})
    for name in ("a.yaml", "a.yml", "b.yaml", "there.yaml"):
        written(tmp_path, good, name=f"cassettes/{name}")
    (tmp_path / "cassettes/bad.yaml").write_text("a: !!python/name:os.system ''")
    (tmp_path / "cassettes/there.jsonl").write_text("mine")
    assert main(["import", "cassettes"]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "cassettes/a.yaml -> cassettes/a.jsonl: 1 exchange, 1 equal byte for byte",
        "cassettes/b.yaml -> cassettes/b.jsonl: 1 exchange, 1 equal byte for byte",
        "2 exchanges in 2 recordings: 2 equal byte for byte.",
        "3 files could not be imported.",
    ]
    assert err.splitlines() == [
        (
            "converse-harness import: cassettes/a.yml:1: it would become cassettes/a.jsonl, which cassettes/a.yaml "
            "became just now. Rename one of them, or import them into different folders."
        ),
        (
            "converse-harness import: cassettes/bad.yaml:1: the tag !!python/name:os.system is refused: it is not "
            f"plain data, and nothing of it was run. {MEND}"
        ),
        (
            "converse-harness import: cassettes/there.yaml:1: cassettes/there.jsonl is there already. "
            "--force overwrites it."
        ),
    ]
    assert (tmp_path / "cassettes/there.jsonl").read_text() == "mine"
    assert main(["import", "cassettes/there.yaml", "--force"]) == 0
    assert len(recording("cassettes/there.jsonl").exchanges) == 1


def test_a_cassette_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, interaction({"body": {"string": ANSWER}}), name="cassettes/one.yaml")
    written(tmp_path, interaction({"body": {"string": ANSWER}}), name="two")
    (tmp_path / "none.json").write_text("{}")
    assert main(["import", "cassettes/one.yaml"]) == 0
    assert main(["import", "cassettes/one.yaml", "-o", "named/weather.jsonl"]) == 0
    assert main(["import", "cassettes/one.yaml", "two", "-o", "both"]) == 0
    made = {str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*.jsonl")}
    assert made == {"cassettes/one.jsonl", "named/weather.jsonl", "both/one.jsonl", "both/two.jsonl"}
    # Found in a folder it is another file; named, it was meant to be a cassette.
    capsys.readouterr()
    assert main(["import", "none.json"]) == 1
    out, err = capsys.readouterr()
    assert err == f"converse-harness import: none.json:1: its keys are none; a cassette has interactions. {MEND}\n"
    assert out == "0 exchanges in 0 recordings.\n1 file could not be imported.\n"


def test_hosts_that_pass_on_to_bedrock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    hosts = ["127.0.0.1:4000", "127.0.0.1:5000", "llm.internal", "[::1]:80", "d", "e", "f"]
    uris = [f"http://{host}/proxy/model/{NOVA}/converse" for host in hosts]
    written(tmp_path, *(interaction({"body": {"string": ANSWER}}, uri) for uri in uris), name="a.yaml")
    assert main(["import", "a.yaml"]) == 1
    assert capsys.readouterr().out == (
        "0 exchanges in 0 recordings.\n"
        "Nothing of Bedrock in 1 file.\n"
        "7 interactions left alone: 1 to 127.0.0.1:4000, 1 to 127.0.0.1:5000, 1 to llm.internal, 1 to [::1]:80, "
        "1 to d, 2 more hosts.\n"
        "If one of these hosts passes on to Bedrock, name it as it stands here: --host 127.0.0.1:4000\n"
    )
    assert not Path("a.jsonl").exists()
    options = ["--host", "127.0.0.1:4000", "--host", "https://LLM.internal/", "--host", "[::1]:80"]
    assert main(["import", "a.yaml", *options]) == 0
    assert "3 exchanges in 1 recording: 3 equal byte for byte." in capsys.readouterr().out
    assert main(["import", "a.yaml", "--host", "127.0.0.1", "--force"]) == 0
    assert "2 exchanges in 1 recording: 2 equal byte for byte." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        (f"https://<HOST>/model/{NOVA}/converse", "<host>"),
        (f"https://REDACTED/model/{NOVA}/converse", "redacted"),
        (f"https://**REDACTED**:443/model/{NOVA}/converse", "**redacted**:443"),
        (f"https://[REDACTED]/model/{NOVA}/converse", "[redacted]"),
        (f"https://{{host}}:{{port}}/model/{NOVA}/converse", "{host}:{port}"),
        (f"<BEDROCK ENDPOINT>/model/{NOVA}/converse", "<bedrock endpoint>"),
        (f"/model/{NOVA}/converse", "no host"),
    ],
)
def test_the_host_that_the_report_tells_can_be_named(
    uri: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, interaction({"body": {"string": ANSWER}}, uri), name="a.yaml")
    assert main(["import", "a.yaml"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-2] == f"1 interaction left alone: 1 to {told}."
    advice = shlex.split(said[-1].rpartition(": ")[2])
    assert advice == ["--host", told]
    assert main(["import", "a.yaml", *advice]) == 0
    assert "1 exchange in 1 recording: 1 equal byte for byte." in capsys.readouterr().out


OTHERS = {
    "Ruby's VCR": f"---\nhttp_interactions:\n- request:\n    uri: {BEDROCK}/model/x/converse\n",
    "betamax": '{"http_interactions": [{"request": {}}], "recorded_with": "betamax/0.9.0"}',
    "httpmock, which rig uses": "when:\n  path: /model/x/converse\nthen:\n  status: 200\n  body: '{}'\n",
    "go-vcr": "---\nversion: 1\ninteractions:\n- request:\n    form: {}\n    url: https://x\n  response: {}\n",
    "PHP-VCR": "\n-\n    request:\n        method: GET\n        url: 'https://x'\n    response: {}\n",
    "WireMock": '{"id": "1", "request": {"urlPath": "/model/x/converse"}, "response": {"status": 200}}',
    "WireMock ": "name: x\nrequest:\n  method: POST\n  urlPath: /model/x/converse\nresponse:\n  body: {{x}}\n",
    "responses": "responses:\n- response:\n    auto_calculate_content_length: false\n    body: ''\n",
    "Keploy": "version: api.keploy.io/v1beta1\nkind: Http\nname: test-1\n",
    "moto's recorder": '{"headers": {"Host": "x"}, "method": "POST", "url": "https://x/", "body": "{}"}\n' * 2,
    "placebo": '{"status_code": 200, "data": {"ResponseMetadata": {}, "output": {"message": {}}}}',
    "req_llm": '{"captured_at": "2026-09-12", "chunks": [{"b64": "AA=="}], "model_spec": "amazon_bedrock:x", '
    '"request": {"canonical_json": {}, "url": "https://x"}, "response": {"body": null}}',
    "the AI SDK, a call with its answer in base64": '{"capturedAt": "2026", "response": {"bodyBase64": "AA=="}}',
    "dd-apm-test-agent": '{"request": {"method": "POST", "url": "https://x/model/m/invoke"}, "response": {}}',
    "Braintrust's recorder": '{"entries": [{"callIndex": 0, "request": {"url": "https://x"}}], "meta": {}}',
    "aimock": '{"fixtures": [{"match": {}, "response": {"content": "Hello!"}}]}',
    "a client that kept only an error's message": '{\n  "message": "The model said \\"no\\"."\n}\n',
    "Anthropic's Messages API": '{"id": "msg_1", "type": "message", "role": "assistant", "content": []}',
    "OpenAI's Chat Completions API": '{"id": "chatcmpl-1", "object": "chat.completion", "choices": []}',
    "Polly.js or another that writes HAR": '{"log": {"_recordingName": "x", "entries": []}}',
    "Polly.js or another that writes HAR ": '{"log": {"entries": [{"request": {"method": "POST", "url": "/"}}]}}',
    "MockServer": '[{"httpRequest": {"path": "/model/x/converse"}, "httpResponse": {}}]',
    "Mountebank": '{"port": 4545, "protocol": "http", "stubs": []}',
    "Hoverfly": '{"data": {"pairs": []}, "meta": {"schemaVersion": "v5"}}',
    "nock": '[{"scope": "https://x:443", "method": "POST", "path": "/"}]',
}


def test_every_kind_that_is_told_has_an_example() -> None:
    assert {tool.strip() for tool in OTHERS} == set(OTHER_KINDS)


@pytest.mark.parametrize("tool", OTHERS)
def test_files_of_another_tool_are_told_by_its_name(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    kind, name = "json" if OTHERS[tool][0] in "[{" else "yaml", tool.strip()
    Path("many").mkdir()
    for number in range(3):
        Path(f"many/{number}.{kind}").write_text(OTHERS[tool])
    assert main(["import", "many"]) == 1
    out, err = capsys.readouterr()
    advice = OTHER_KINDS[name].advice
    assert (out, err) == (f"0 exchanges in 0 recordings.\n3 files of {name}: not read. {advice}\n", "")
    assert main(["import", f"many/0.{kind}"]) == 1
    said = f"many/0.{kind}:1: this is of {name}; import reads {READ}. {advice}\n"
    assert capsys.readouterr().err == f"converse-harness import: {said}"
    written(tmp_path, interaction({"body": {"string": ANSWER}}), name="many/ours.yaml")
    assert main(["import", "many"]) == 0


def test_a_broken_cassette_whose_text_names_another_tool_is_not_taken_for_one_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    talk = "\n".join(OTHERS.values())
    written(tmp_path, interaction({"body": {"string": talk}, "status": None}), name="a.yaml")
    assert main(["import", "a.yaml"]) == 1
    assert "the status of its response has the code None" in capsys.readouterr().err


def test_what_is_secret_is_masked_replaced_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arn = "arn:aws:bedrock:us-east-1:210987654321:application-inference-profile/x"
    uri = f"{BEDROCK}/model/{quote(arn, safe='')}/converse"
    masked = json.dumps({"message": f"{arn} is not yours"})
    written(tmp_path, interaction({"body": {"string": masked}}, uri), interaction({"body": {"string": ANSWER}}, uri))
    assert main(["import", "hand.yaml"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "hand.yaml -> hand.jsonl: 2 exchanges, 1 equal byte for byte, 1 equal but for what was masked",
        "2 exchanges in 1 recording: 1 equal byte for byte, 1 equal but for what was masked.",
    ]
    assert "210987654321" not in Path("hand.jsonl").read_text()
    key = f"AKIA{'7Q' * 8}"
    written(tmp_path, interaction({"parsed_body": {"message": f"the key {key} is old"}}))
    assert main(["import", "hand.yaml", "--force"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[:3] == [
        "hand.yaml -> hand.jsonl: 1 exchange, 1 equal but for what was masked",
        "hand.jsonl has *** in the place of a secret:",
        "  hand.jsonl:3: body.message: an AWS access key id",
    ]
    assert key not in out + err
    assert key not in Path("hand.jsonl").read_text()
    before = Path("hand.jsonl").read_bytes()
    packed = base64.b64encode(in_zip(key)).decode()
    written(tmp_path, interaction({"parsed_body": {"message": packed}}))
    assert main(["import", "hand.yaml", "--force"]) == 1
    out, err = capsys.readouterr()
    assert out == "0 exchanges in 0 recordings.\n1 file could not be imported.\n"
    first, place, *_, last = err.splitlines()
    assert first == (
        "converse-harness import: hand.yaml: hand.jsonl was not written, for it would hold a secret that cannot be "
        "masked there:"
    )
    assert place.startswith("converse-harness import:   call 1, Converse: ")
    assert last == "converse-harness import: Here that is --redact 'PATTERN => REPLACEMENT'."
    assert key not in err
    assert Path("hand.jsonl").read_bytes() == before
    written(tmp_path, interaction({"parsed_body": {"message": f"the key {key} is old"}}))
    assert main(["import", "hand.yaml", "--force", "--redact", r"the key \w+ => the key KEY"]) == 0
    assert "1 equal but for what was masked." in capsys.readouterr().out
    assert recording("hand.jsonl").exchanges[0].head["body"] == {"message": "the key KEY is old"}


@pytest.mark.parametrize("options", [[], ["--keep-files"]])
def test_files_in_requests_are_kept_if_the_command_says_so(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = {"bytes": base64.b64encode(b"a picture " * 999).decode()}
    asked = {"messages": [{"role": "user", "content": [{"image": {"format": "png", "source": source}}]}]}
    written(tmp_path, interaction({"body": {"string": ANSWER}}, body=json.dumps(asked)))
    assert main(["import", "hand.yaml", *options]) == 0
    assert [each.read_bytes() for each in tmp_path.glob("*.media/*.png")] == [b"a picture " * 999] * len(options)
    assert ("$file" in Path("hand.jsonl").read_text()) == (not options)
    said = "hand.jsonl: 1 file in its requests is kept; what pictures show, sound"
    assert (said in capsys.readouterr().out) == bool(options)


def test_an_answer_that_is_not_equal_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It cannot happen: what is heard is written so that it reads the same. Were it to happen, it would be said."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, interaction({"body": {"string": ANSWER}}))
    monkeypatch.setattr("converse_harness.features.cassettes.convert.reply_of", lambda exchange: reply.text("another"))
    assert main(["import", "hand.yaml"]) == 1
    assert "1 exchange in 1 recording: 1 not equal." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone.yaml"], "there is no gone.yaml"),
        (["empty"], "in empty is no file that ends in .yaml, .yml, .json or .chunks.txt, with or without .gz"),
        (["full", "-o", "x.jsonl"], "x.jsonl is one recording; for several cassettes -o is a folder"),
        (
            ["full/a.yaml", "full/a.yaml", "-o", "x.jsonl"],
            "x.jsonl is one recording; for several cassettes -o is a folder",
        ),
        (
            ["full", "--host", "a/b"],
            "argument --host: 'a/b' is no host; it is NAME or NAME:PORT, as the report tells it",
        ),
        (["full", "--redact", "x"], "'x'; a line is `pattern => replacement`."),
        ([], "the following arguments are required: CASSETTE"),
    ],
)
def test_wrong_usage(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    written(tmp_path, name="full/a.yaml")
    with pytest.raises(SystemExit) as left:
        main(["import", *arguments])
    assert left.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith(said)


def test_what_the_file_system_refuses_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, interaction({"body": {"string": ANSWER}}), name="a.yaml")
    Path("a.jsonl").mkdir()
    Path("file").write_text("")
    assert main(["import", "a.yaml", "--force"]) == 1
    assert main(["import", "a.yaml", "-o", "file/made.jsonl"]) == 1
    errors = capsys.readouterr().err.splitlines()
    assert [line.rpartition(": ")[2] for line in errors] == ["Is a directory.", "File exists."]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("patience", "terminal"), [(-1, True), (1000, True), (-1, False)])
def test_progress_is_for_terminals_and_for_what_takes_its_time(
    patience: float, terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    for name in ("a", "b"):
        written(tmp_path, interaction({"body": {"string": ANSWER}}), name=f"{name}.yaml")
    monkeypatch.setattr("converse_harness.cli.terminal._PATIENCE", patience)
    out, err = io.StringIO(), Terminal() if terminal else io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", err)
    assert main(["import", "a.yaml", "b.yaml"]) == 0
    shown = patience < 0 and terminal
    assert err.getvalue() == ("\r1 of 2 cassettes\r\033[K\r2 of 2 cassettes\r\033[K" if shown else "")
    assert "2 exchanges in 2 recordings: 2 equal byte for byte.\n" in out.getvalue()


def test_without_pyyaml_json_is_read_and_yaml_says_what_to_install(tmp_path: Path) -> None:
    """In a process of its own: here PyYAML is loaded."""
    written(tmp_path, interaction({"body": {"string": ANSWER}}))
    plain = {"interactions": [interaction({"body": {"string": ANSWER.decode()}})], "version": 1}
    (tmp_path / "plain.json").write_text(json.dumps(plain))
    script = "import sys; sys.modules['yaml'] = None; from converse_harness.cli import main; sys.exit(main())"
    run = subprocess.run(
        [sys.executable, "-c", script, "import", "hand.yaml", "plain.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.stderr == (
        "converse-harness import: hand.yaml:1: this is YAML, and PyYAML, which reads it, is not installed. "
        "Install it: pip install 'converse-harness[import]'\n"
    )
    assert (run.returncode, recording(tmp_path / "plain.jsonl").exchanges[0].operation) == (1, "Converse")


def test_a_recording_is_no_cassette(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"format": "converse-recording", "version": 2}\n')
    with pytest.raises(SystemExit, match="2"):
        main(["import", str(path)])
    assert f"{path} is a recording already; converse-harness show {path} prints it" in capsys.readouterr().err


def test_wrong_arguments_print_the_usage_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    check_usage(capsys, ["import", "nowhere.yaml"], " import", "there is no nowhere.yaml")


def test_the_help_of_redact_is_true(capsys: pytest.CaptureFixture[str]) -> None:
    check_help_of_redact("import", capsys)
