"""The control API: every request is answered as openapi.json says, and so is what a client asks of what it opened."""

import json
from collections.abc import Iterator

from converse_harness.cases import CASES
from converse_harness.server.control import FAKES, id_of
from converse_harness.server.control.vocabulary import MODIFIERS, REPLIES, SCRIPTING, conditions
from converse_harness.stream.http import Request
from tests.fuzz.target import ASKED, Target
from tests.server.control.conftest import Client

MOST_LINES = 12


def check(data: bytes) -> None:
    """Each line is a method, a target and a body; `{id}` is that of the fake that was opened last.

    A target that is not the control API's goes to that fake.
    """
    with Client() as client:
        _run(client, data.split(b"\n")[:MOST_LINES])


def _run(client: Client, lines: list[bytes]) -> None:
    for line in lines:
        method, target, body = (*line.split(b" ", 2), b"", b"")[:3]
        _ask(client, method.decode("latin-1"), target.decode("latin-1"), body)
    for fake in client.fakes.fakes:
        for operation in ("converse", "converse-stream"):
            _ask(client, "POST", f"/model/m/{operation}", ASKED)
        for path in (f"{FAKES}/{id_of(fake)}", f"{FAKES}/{id_of(fake)}/calls"):
            assert client.ask("GET", path).status == 200
        assert client.ask("DELETE", f"{FAKES}/{id_of(fake)}").status == 200


def _ask(client: Client, method: str, target: str, body: bytes) -> None:
    fakes = client.fakes.fakes
    if fakes and not target.startswith("/__converse"):
        done = fakes[-1].core.exchange(Request(method, target, (), body))
        done.taken.extend(done.response.chunks)
        done.ended("complete")
    else:
        client.ask(method, target.replace("{id}", id_of(fakes[-1]) if fakes else "none"), body)


def seeds() -> Iterator[bytes]:
    """A session for each word of a reply and each case, and one that asks all there is."""
    call = b"POST /model/us.amazon.nova-lite-v1%3A0/converse-stream " + ASKED
    for name in CASES:
        yield _posted({"script": [{"case": name, "times": 2}]}) + b"\n" + call
    for word in REPLIES:
        for value in (True, "hi", {"name": "get_weather", "input": {"city": "Bern"}}):
            yield _posted({"script": [{word: value}]}) + b"\n" + call
    for modifier in MODIFIERS:
        for given in (2, "stall", {"events": 1}, {"first": 0.1, "each": 0.2}, {"fault": "stall", "after": 1}):
            yield _posted({"always": {"text": "hi", modifier: given}, "seed": 3}) + b"\n" + call
    for condition in conditions():
        when = {condition: "*Z?rich*", "always": {"json": {"a": 1}}}
        empty: list[object] = []
        yield _posted({"when": [when, {condition: {"regex": "^Z"}, "script": empty}]}) + b"\n" + call
    asked = [b'POST /__converse/fakes {"unused":"allow","script":[]}', call, b"GET /__converse/fakes/{id}/calls"]
    asked += [b'POST /__converse/fakes/{id}/script {"script":[{"text":"hi"}]}', b"GET /__converse/fakes", b"GET /x"]
    yield b"\n".join([*asked, b"DELETE /__converse/fakes/{id}", b"GET /__converse/openapi.json", b"PUT /__converse"])


def _posted(body: object) -> bytes:
    return f"POST {FAKES} {json.dumps(body)}".encode()


WORDS = (
    *(
        f'"{name}":'
        for name in (*SCRIPTING, *conditions(), *REPLIES, *MODIFIERS, "regex", "seed", "unused", "rules", "history")
    ),
    *(f"POST {FAKES} ", f"GET {FAKES}/{{id}}", f"POST {FAKES}/{{id}}/script ", f"{FAKES}/{{id}}/calls", "DELETE "),
    *("POST /model/m/converse ", '"toolUse":', '"text":', '"document":', '"messages":', '"content":', '"role":"user"'),
    *("%2F", "?", "/", "\n", "true", "null", "-1", "1e308", "\\ud800"),
)

TARGET = Target(check, seeds, WORDS)
