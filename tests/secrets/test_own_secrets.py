"""The secrets of this process: which variables have them, and every spelling in which programs print them."""

from __future__ import annotations

import base64
import html
import json
import os
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness.secrets.process import own_secrets
from tests.profiles import examples
from tests.secrets.terminals import SHAPES, seen
from tests.secrets.test_terminals import MASKS

PHRASE: Final = "sixteen characters or more"
RANDOM: Final = "q7Rt2Lw9Xz4Kd8Vn3Bm6"

SURE: Final = (
    "AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "OPENAI_API_KEY", "apikey", "openaiApiKey", "CLIENT_SECRET_2",
    "PGPASSWORD", "MYSQL_PWD", "DB_PASS", "DB_PASS_PROD", "GITHUB_PAT", "SENTRY_DSN", "DB_PASSWORD", "GH_TOKEN_OLD",
    "MYAPIKEY", "SSH_KEY_2",
)  # fmt: skip
UNSURE: Final = (
    "GITHUB_AUTH", "NPM_AUTH", "BASIC_AUTH", "REDIS_AUTH", "JWT", "TOKENS", "SESSION_COOKIE", "SLACK_WEBHOOK",
    "SLACK_WEBHOOK_URL", "PRIVATE_KEY_PEM", "SIGNING_KEY_BASE64", "DEPLOY_KEYS",
)  # fmt: skip
NONE: Final = (
    "PWD", "OLDPWD", "COMPASS", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SECRETS_ARN", "HOME", "KEYBOARD", "MONKEY_ISLAND",
    "TOKENIZERS_PARALLELISM", "AUTH_PROVIDER", "SSH_AUTH_SOCK", "TOKEN_ENDPOINT", "CACHE_KEY_PREFIX",
    "GIT_AUTHOR_EMAIL", "TURKEY", "PATH", "DATABASE_URL",
)  # fmt: skip


@pytest.mark.parametrize("name", SURE)
def test_names_that_make_any_value_a_secret(name: str) -> None:
    assert PHRASE in own_secrets({name: PHRASE})


@pytest.mark.parametrize("name", UNSURE)
def test_names_that_make_a_random_value_a_secret(name: str) -> None:
    assert own_secrets({name: RANDOM}) == {RANDOM}
    assert own_secrets({name: PHRASE}) == frozenset()


@pytest.mark.parametrize("name", NONE)
def test_names_of_no_secrets(name: str) -> None:
    assert own_secrets({name: PHRASE}) | own_secrets({name: RANDOM}) == frozenset()


# Where a secret is in the environment, what programs make of it, and in which of our texts it comes

PRINTABLE: Final = st.characters(codec="utf-8", categories=["L", "N", "P", "S"])
SHORTER: Final = st.characters(codec="utf-8", max_codepoint=0xFFFF, categories=["L", "N", "P", "S"])


def values(letters: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.text(letters, min_size=20, max_size=40).filter(
        lambda text: len(set(text)) > 5 and "." not in (text[16], text[-17])
    )


VALUES: Final = values(PRINTABLE)
HOLDERS: Final[Mapping[str, Callable[[str], dict[str, str]]]] = {
    "a variable": lambda value: {"DB_PASSWORD": value},
    "the password of a URL": lambda value: {"DATABASE_URL": f"postgres://app:{quote(value, safe='')}@db:5432/x?a=b"},
    "JSON": lambda value: {"APP_SETTINGS": json.dumps({"db": [{"user": "app", "password": value}]})},
    "JSON in JSON": lambda value: {"APP": json.dumps({"inner": json.dumps({"client_secret": value})})},
}
SPELLINGS: Final[Mapping[str, Callable[[str], str]]] = {
    "as it is": str,
    "in a sentence": lambda value: f'FATAL: password authentication failed: "{value}"!',
    "in a URL": lambda value: f"cannot connect to postgres://app:{quote(value, safe='')}@db",
    "in a URL with slashes": lambda value: f"cannot connect to postgres://app:{quote(value)}@db",
    "in a query": lambda value: f"?user=app&password={quote_plus(value)}&x=1",
    "in JSON": lambda value: json.dumps({"note": f"it is {value}"}),
    "in JSON with its letters": lambda value: json.dumps([value], ensure_ascii=False),
    "in Python": lambda value: repr({"note": value}),
    "in ASCII": lambda value: f"b'{value.encode('unicode_escape').decode()}'",
    "in HTML": lambda value: f"<p>{html.escape(value)}</p>",
    "in Go": lambda value: '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"',
    "in a log of docker": lambda value: f"web-1  | password={value}",
    "cut": lambda value: f"{value[:-1]}... is wrong",
    "cut to sixteen characters": lambda value: f"{value[:16]}... is wrong",
    "its last sixteen characters": lambda value: f"\u2026{value[-16:]} is wrong",
    "coloured": lambda value: SHAPES["a colour within"](value, len(value) // 2),
    "on a terminal": lambda value: SHAPES["grep --color"](value, len(value) // 2),
    "with a character of no width": lambda value: SHAPES["a zero-width space"](value, len(value) // 2),
}


@settings(max_examples=examples(10))
@given(
    value=VALUES,
    holder=st.sampled_from(sorted(HOLDERS)),
    spelling=st.sampled_from(sorted(SPELLINGS)),
    name=st.sampled_from(sorted(MASKS)),
)
def test_every_spelling_is_hidden(value: str, holder: str, spelling: str, name: str) -> None:
    left = MASKS[name](SPELLINGS[spelling](value), own_secrets(HOLDERS[holder](value)))
    ways = {value[:-1], quote(value, safe="")[:-3], json.dumps(value)[1:-2], html.escape(value)[:-1], value[:16]}
    ways |= {value[-16:]}
    assert not [way for way in ways if way in left or way in seen(left)]


ENCODED: Final[Mapping[str, Callable[[str], str]]] = {
    "a login": lambda value: base64.b64encode(f"app:{value}".encode()).decode(),
    "base64": lambda value: base64.b64encode(f"it is {value}!".encode()).decode(),
    "percent": lambda value: "".join(f"%{byte:02x}" for byte in value.encode()),
    "hexadecimal": lambda value: f"it is {value}!".encode().hex(),
    "letter by letter": lambda value: json.dumps([*value]),
    "numbers of HTML": lambda value: "".join(f"&#{ord(one)};" for one in value),
    "percent twice": lambda value: quote(quote(value, safe=""), safe=""),
    "JSON of PHP": lambda value: json.dumps(value).replace("/", "\\/"),
    "JSON for HTML": lambda value: json.dumps(value, ensure_ascii=False).replace("<", "\\u003c"),
    "XML": lambda value: f"<p>{html.escape(value, quote=False)}</p>",
    "JSON in JSON": lambda value: json.dumps({"body": json.dumps({"note": value})}),
    "JSON, four deep": lambda value: json.dumps({"a": json.dumps({"b": json.dumps({"c": json.dumps({"d": value})})})}),
}


@settings(max_examples=examples(2))
@given(
    value=values(SHORTER),
    encoding=st.sampled_from(sorted(ENCODED)),
    name=st.sampled_from(["value_without_secrets", "without_secrets"]),
)
def test_every_encoding_is_hidden(value: str, encoding: str, name: str) -> None:
    encoded = ENCODED[encoding](value)
    assert encoded[1:-1] not in MASKS[name](f"it is {encoded}", own_secrets({"DB_PASSWORD": value}))


RARE: Final[Mapping[str, tuple[str, str]]] = {
    "cut before a dot": ("Zq4-wP7nR2tLk9Xm.Y3hVd8Bc5", "Zq4-wP7nR2tLk9Xm... is wrong"),
    "cut in the middle": ("Zq4-wP7nR2tLk9XmY3hVd8Bc5sJf", "Zq4-wP7nR2tL...Y3hVd8Bc5sJf"),
    "in a shell": ("Zq4-wP7nR2tL'k9XmY3hVd8Bc5", "psql 'Zq4-wP7nR2tL'\"'\"'k9XmY3hVd8Bc5'"),
    "in SQL or YAML": ("Zq4-wP7nR2tL'k9XmY3hVd8Bc5", "PASSWORD 'Zq4-wP7nR2tL''k9XmY3hVd8Bc5'"),
    "beyond 16 bits, escaped for HTML": ("Zq4-wP7nR2tL<k9XmY\U00010000", "Zq4-wP7nR2tL\\u003ck9XmY\\ud800\\udc00"),
    "quoted-printable": ("Zq4-wP7nR2tLk9XmY3hVd8Bc5", "it is Zq4-wP7nR2tL=\nk9XmY3hVd8Bc5"),
    "in source, joined": ("Zq4-wP7nR2tLk9XmY3hVd8Bc5", '"Zq4-wP7nR2tL" + "k9XmY3hVd8Bc5"'),
    "in octal": ("Zq4-wP7nR2tL", "".join(f"\\{ord(one):03o}" for one in "Zq4-wP7nR2tL")),
}
"""A value, and how it is printed."""


@pytest.mark.parametrize("spelling", RARE)
def test_a_rare_spelling_is_hidden(spelling: str) -> None:
    value, printed = RARE[spelling]
    left = MASKS["value_without_secrets"](printed, own_secrets({"DB_PASSWORD": value}))
    assert not [part for part in ("Zq4-wP7nR2tL", "k9XmY", "3hVd8Bc5", "\\132\\161\\064") if part in left]


BODY: Final = [(RANDOM * 4)[at : at + 64] for at in range(3)]
KEY: Final = "\n".join(["-----BEGIN PRIV" + "ATE KEY-----", *BODY, "-----END PRIV" + "ATE KEY-----"])


GIVEN: Final = {"LF": KEY, "escaped": KEY.replace("\n", "\\n"), "CRLF": KEY.replace("\n", "\r\n")}
PRINTED: Final = {"CRLF": "\r\n".join(BODY), "indented": "\n    ".join(BODY), "a line": BODY[1]}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("given_as", GIVEN)
@pytest.mark.parametrize("printed", PRINTED)
def test_the_lines_of_a_key_are_hidden(name: str, given_as: str, printed: str) -> None:
    left = MASKS[name](f"it has {PRINTED[printed]}", own_secrets({"SIGNING_KEY": GIVEN[given_as]}))
    assert not [line for line in BODY if line in left]


def test_a_cookie_and_a_list_of_tokens_are_hidden_part_by_part() -> None:
    environ = {"SESSION_COOKIE": f"theme=dark; sid={RANDOM}", "TOKENS": f"{RANDOM[::-1]},short", "X": "a=b"}
    assert {RANDOM, RANDOM[::-1]} <= own_secrets(environ)
    assert not {"dark", "short", "b"} & own_secrets(environ)


@pytest.mark.parametrize("name", MASKS)
def test_a_value_that_is_no_utf_8_is_hidden(name: str) -> None:
    value = os.fsdecode(b"caf\xe9-correct-horse-\xff")
    assert "correct" not in MASKS[name](f"it is {value}!", own_secrets({"DB_PASSWORD": value}))


def test_names_in_json_are_no_secrets() -> None:
    settings = {"flags": [{"key": "new-checkout-v2-of-2026", "auth_url": "https://login2.example.com/x"}]}
    assert own_secrets({"FLAGS": json.dumps(settings)}) == frozenset()


def test_the_login_of_a_registry_is_hidden() -> None:
    login = base64.b64encode(f"app:{PHRASE}".encode()).decode()
    assert login in own_secrets({"DOCKER_CONFIG_JSON": json.dumps({"auths": {"registry": {"auth": login}}})})
