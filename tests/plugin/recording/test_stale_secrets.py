"""Secrets that a test sends in some encoding: no difference when they are played, and nowhere in what pytest prints."""

import base64
import gzip
import json
import re
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.plugin.upstream import Upstream
from tests.products import sampled

GITHUB = "ghp_" + "q7Zt2Wk9" * 4 + "Lm3x"
OF_THE_PROCESS = "quiet-Harbour-lamp-4417"

FORMS = """
import base64, gzip, json

def b64(data):
    return base64.b64encode(data).decode()

FORMS = {
    "plain": lambda text: text,
    "base64": lambda text: b64(text.encode()),
    "inside": lambda text: f"the file is {b64(text.encode())}, please read it",
    "urlsafe": lambda text: base64.urlsafe_b64encode(("???>>>" + text).encode()).decode(),
    "unpadded": lambda text: b64((text + "....").encode()).rstrip("="),
    "lines": lambda text: base64.encodebytes((text + ". Words follow." * 9).encode()).decode(),
    "gzip": lambda text: b64(gzip.compress(text.encode(), mtime=0)),
    "gzip of now": lambda text: b64(gzip.compress(text.encode())),
    "twice": lambda text: b64(b64(text.encode()).encode()),
    "json": lambda text: json.dumps({"token": b64(text.encode())}),
    "late": lambda text: b64(("words " * 20 + text).encode()),
}
"""

TEST = """
import pytest
from functools import cache
import agent
from forms import FORMS

client = cache(agent.client)

@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("secret", ["GITHUB", "OF_THE_PROCESS"])
@pytest.mark.converse_recording
def test_sent(form, secret, monkeypatch):
    secret = {"GITHUB": "GITHUB_VALUE", "OF_THE_PROCESS": "OF_THE_PROCESS_VALUE"}[secret]
    monkeypatch.setenv("LAMP_PASSWORD", "OF_THE_PROCESS_VALUE")
    text = FORMS[form](f"token {secret} end")
    content = [{"text": text}]
    client().converse(modelId="m", messages=[{"role": "user", "content": content}])
""".replace("GITHUB_VALUE", GITHUB).replace("OF_THE_PROCESS_VALUE", OF_THE_PROCESS)


def decoded(text: str, depth: int = 3) -> Iterator[str]:
    """A text, and all that its runs of base64 are, cut or not."""
    yield text
    for run in re.findall(r"[A-Za-z0-9+/_-]{8,}", text) if depth else ():
        for missing in range(4):
            part = "A" * missing + run.replace("-", "+").replace("_", "/")
            part = part[: len(part) // 4 * 4]
            data = base64.b64decode(part)[missing:]
            if data[:2] == b"\x1f\x8b":
                try:
                    data = zlib.decompressobj(31).decompress(data)
                except zlib.error:
                    continue
            yield from decoded(data.decode("latin-1"), depth - 1)


def shown_of(secret: str, text: str) -> set[str]:
    """The parts of a secret, eight characters long, that a text shows in one form or another."""
    parts = {secret[at : at + 8] for at in range(len(secret) - 7)}
    return {part for each in decoded(text) for part in parts if part in each}


def test_the_search_finds_what_it_is_for() -> None:
    wrapped = json.dumps(base64.b64encode(gzip.compress(f"token {GITHUB}".encode())).decode())
    assert shown_of(GITHUB, wrapped)
    assert shown_of(GITHUB, base64.b64encode(GITHUB.encode()).decode()[5:30])
    assert not shown_of(GITHUB, base64.b64encode(b"token *** end").decode())


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test that needs the recordings keeps them for the others."""
    return tmp_path_factory.mktemp("kept") / "recordings"


@pytest.fixture
def recorded(upstream: Upstream, kept: Path) -> Upstream:
    upstream.project.makepyfile(forms=FORMS, test_a=TEST)
    root = upstream.project.path / "recordings"
    if kept.exists():
        shutil.copytree(kept, root)
    else:
        upstream.record().assert_outcomes(passed=22)
        shutil.copytree(root, kept)
    return upstream


def printed(result: pytest.RunResult) -> str:
    """What pytest printed, without the lines of the project's own source that a traceback shows."""
    return "\n".join([*result.outlines, *result.errlines])


def is_silent(text: str) -> bool:
    return not shown_of(GITHUB, text) and not shown_of(OF_THE_PROCESS, text)


def test_a_secret_in_any_form_is_not_stale(recorded: Upstream) -> None:
    result = recorded.replay("--converse-stale=fail", "-rA")
    result.assert_outcomes(passed=22)
    assert is_silent(printed(result))
    assert "requests that" not in printed(result)


@pytest.mark.parametrize(
    ("now", "args"),
    sampled(
        ["token {secret} END", "tok {secret} end", "token {secret}"],
        [(), ("--converse-stale=fail",), ("--converse-stale=fail", "-vv")],
        tier="slow",
    ),
)
def test_a_real_difference_beside_it_shows_none_of_it(recorded: Upstream, now: str, args: tuple[str, ...]) -> None:
    (recorded.project.path / "test_a.py").write_text(TEST.replace("token {secret} end", now))
    text = printed(recorded.replay(*args))
    assert "END" in text or "differ" in text
    assert is_silent(text)


@pytest.mark.parametrize(
    "changed",
    [
        lambda text: text.replace("content = [{", "content = [{'text': 'more'}, {"),
        lambda text: text + "    assert 0\n",
        lambda text: text.replace("test_sent", "test_of_another_name"),
    ],
)
def test_a_failure_shows_none_of_it(recorded: Upstream, changed: Callable[[str], str]) -> None:
    """No exchange of this shape; a transcript of the calls; no recording at all."""
    (recorded.project.path / "test_a.py").write_text(changed(TEST))
    result = recorded.replay()
    assert result.parseoutcomes().get("failed") == 22
    assert is_silent(printed(result))


def test_ids_of_tool_uses_are_shown_beside_masked_secrets(recorded: Upstream) -> None:
    result = {"toolUseId": "tooluse_Zk3vQ9xLr2", "content": [{"text": "18 C"}]}
    use = {"toolUseId": "tooluse_Zk3vQ9xLr2", "name": "t", "input": {}}
    test = f"""
        def test_it(converse):
            from agent import client
            from converse_harness import reply
            converse.script(reply.text("{GITHUB}"))
            messages = [
                {{"role": "user", "content": [{{"text": "hi"}}]}},
                {{"role": "assistant", "content": [{{"toolUse": {use}}}]}},
                {{"role": "user", "content": [{{"toolResult": {result}}}]}},
            ]
            tools = {{"tools": [{{"toolSpec": {{"name": "t", "inputSchema": {{"json": {{"type": "object"}}}}}}}}]}}
            client().converse(modelId="m", messages=messages, toolConfig=tools)
            assert 0
    """
    recorded.project.makepyfile(test_b=test)
    outcome = recorded.replay("test_b.py")
    outcome.assert_outcomes(failed=1)
    assert "a GitHub token" in printed(outcome)
    assert "tooluse_Zk3vQ..." in printed(outcome)
    assert is_silent(printed(outcome))
