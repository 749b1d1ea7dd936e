"""The secrets of this process, in all spellings: values of environment variables, and keys that signed requests."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, unquote, unquote_plus

from converse_harness.json_values import is_array, is_object, parsed_json
from converse_harness.secrets.readable import shown

LONG_ENOUGH: Final = 16
"""A secret with at least this number of characters is masked even inside a word, and even if it is all digits."""

SHORTEST: Final = 8
"""The minimum number of characters of a secret."""

_BODY_LINE: Final = re.compile(r"[A-Za-z0-9+/=_-]{32,}")
"""Matches a line of a private key, without its first and last line, which all keys have."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SURE: Final = re.compile(
    r"(?:(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|CRED|(?:API|ACCESS) ?KEY)S?|TOKEN|\b(?:PASS|PWD))\b"
    r"|\b(?:KEY|PAT|DSN)$"
)
"""Matches the words that make a variable secret, wherever they stand in its name (DB_PASS_PROD), or at its end."""

_UNSURE: Final = re.compile(r"TOKENS\b|\b(?:KEYS?|PATS?|DSNS?|AUTH|AUTHORIZATION|JWTS?|COOKIES?|WEBHOOKS?)\b")
"""Matches the words that make a variable secret only if its value looks like a secret (NPM_AUTH, but not AUTH_FLOW)."""

_NO_SECRET_AT_END: Final = re.compile(
    r"(?<!WEBHOOK )\b(?:FILE|PATH|DIR|URI|URL|ARN|NAME|COMMAND|HOST|DOMAIN|ENDPOINT|TYPE|METHOD|MODE|PROVIDER|SOCK|USER"
    r"|ISSUER|AUDIENCE|SCOPES?|SIZE|LENGTH|LIMIT|COUNT|TTL|TIMEOUT|VERSION|ALGORITHM|FORMAT|PREFIX|REGION|ENABLED)$"
)
"""Matches the last word of a variable that says where a secret is, or something else about it. The address of a webhook
is secret itself."""

_LOOKS_RANDOM: Final = re.compile(r"(?=.*\d)(?=.*[A-Za-z])|(?=.*[a-z])(?=.*[A-Z])", re.DOTALL)

_PASSWORD_IN_URL: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://[^\s:/@]*:([^\s/]+)@")
_PART: Final = re.compile(r"[^\s,;]+")

_CLASSES: Final = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]", "[^a-zA-Z0-9]")))

_COMMON: Final = frozenset(
    [
        "admin",
        "administrator",
        "anonymous",
        "changeit",
        "changeme",
        "default",
        "docker",
        "example",
        "guest",
        "hello",
        "letmein",
        "local",
        "localhost",
        "master",
        "minio",
        "minioadmin",
        "mypassword",
        "mysecret",
        "mysecretpassword",
        "mysql",
        "nobody",
        "passw",
        "passwd",
        "password",
        "placeholder",
        "postgres",
        "postgresql",
        "qwerty",
        "rabbitmq",
        "redis",
        "root",
        "rootroot",
        "secret",
        "supersecret",
        "test",
        "testing",
        "testpass",
        "testpassword",
        "testtest",
        "username",
        "welcome",
    ]
)
"""Common passwords of test services. Only the letters of a value are compared with them."""

_signed_with: Final[set[str]] = set()
_seen: Final[set[str]] = set()
"""The secrets that the environment has contained whenever `see_environ` was called, since `forget_environ`."""
_snapshot: tuple[Mapping[Any, Any], frozenset[str]] = {}, frozenset()
"""The environment at the last call of `see_environ`, as bytes or texts, and its secrets."""


def remember(*values: object) -> None:
    """Add keys that signed a request to the secrets of this process. Only texts of 16 or more characters are added."""
    keys = [value for value in values if isinstance(value, str) and len(value) >= LONG_ENOUGH]
    _signed_with.update(spelling for key in keys for spelling in _spellings(key))


def see_environ() -> None:
    """Add the secrets in the environment to the secrets of this process, even if a test sets them only for a while.

    Every call to a fake calls this function, so the environment is searched again only if it has changed.
    """
    global _snapshot
    now: Mapping[Any, Any] = getattr(os.environ, "_data", os.environ)  # a comparison of os.environ itself is slow
    if now != _snapshot[0]:
        now = dict(now)
        _snapshot = now, own_secrets({os.fsdecode(name): os.fsdecode(value) for name, value in now.items()})
    _seen.update(_snapshot[1])


def forget_environ() -> None:
    """Forget the secrets that the environment contained in the past. The plugin calls this when a test begins."""
    _seen.clear()


def own_secrets(environ: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return this process's secrets: keys that signed requests, and variables whose names suggest a secret.

    The variables are those of now, and those that the environment contained when a fake got a call. A password in a URL
    is included, whatever the variable's name, and so is a secret in JSON (`{"auth": "..."}`). With an `environ` of your
    own, only its variables are read. Values shorter than eight characters are omitted. Values shorter than sixteen are
    also omitted if all their characters are of one kind (for instance digits), or if their letters are a common
    password. Each secret is included in the other spellings in which programs print it.

    >>> environ = {"DB_PASSWORD": "b4ttery-staple", "X_KEY": "short", "DB_PASS": "postgres1"}
    >>> own_secrets({**environ, "HOME": "/home/ada-lovelace"})
    frozenset({'b4ttery-staple'})
    >>> "horse/b4ttery" in own_secrets({"DATABASE_URL": "postgres://ada:horse%2Fb4ttery@db/x"})
    True
    """
    if environ is None:
        see_environ()
        return frozenset(_seen | _signed_with)
    values = {value.strip() for name, text in environ.items() for value in _secrets_in(name, text)}
    spelled = (spelling for value in values if _is_worth_hiding(value) for spelling in _spellings(value))
    return frozenset(filter(_is_worth_hiding, spelled))


def _secrets_in(name: str, value: str) -> Iterator[str]:
    """Yield the secrets in one variable."""
    if "://" in value:
        yield from _PASSWORD_IN_URL.findall(value)
    suggests = _suggests(name)
    if suggests is True:
        yield value
    elif suggests is None:
        # Several tokens may stand in one variable, and a cookie has names.
        parts = [part.partition("=")[2] or part for part in _PART.findall(value)]
        yield from (each for each in (value, *parts) if len(each) >= LONG_ENOUGH and _LOOKS_RANDOM.match(each))
    if value.lstrip()[:1] in ("{", "["):
        yield from _in_json(name, value)


@lru_cache(maxsize=1024)
def _suggests(name: str) -> bool | None:
    """Whether the name of a variable suggests a secret; None if that depends on the value."""
    words = " ".join(map(str.upper, _WORD.findall(name)))
    if words == "PWD" or _NO_SECRET_AT_END.search(words):
        return False
    return True if _SURE.search(words) else None if _UNSURE.search(words) else False


_NAMES_OF_NAMES: Final = ("key", "keys")
"""Members of JSON that hold the name of something more often than a secret: {"key": "new-checkout-v2"}."""


def _in_json(name: str, text: str) -> Iterator[str]:
    """Yield the secrets in JSON, whose members are read as variables are."""
    left: list[tuple[str, Any]] = [(name, parsed_json(text))]
    while left:
        name, value = left.pop()
        if is_object(value):
            left += value.items()
        elif is_array(value):
            left += [(name, each) for each in value]
        elif isinstance(value, str) and name.lower() not in _NAMES_OF_NAMES:
            yield from _secrets_in(name, value)


_FOR_HTML: Final = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&'"})


def _spellings(value: str) -> Iterator[str]:
    """Yield the ways in which programs write a secret.

    Drivers decode the password of a URL. Libraries encode a password for a URL, for JSON, for Python, for HTML, for a
    shell, for SQL or for YAML. A key of several lines is printed with other line ends, with spaces before its lines, or
    line by line.
    """
    from html import escape  # imported late, because it loads a table of 2,000 entities

    for plain in {value, unquote(value), unquote_plus(value)} if "%" in value else (value,):
        yield from (plain, shown(plain), escape(plain))
        yield from (quote(plain, safe, errors="surrogateescape") for safe in ("", "/"))
        in_json = json.dumps(plain)[1:-1]
        yield from (in_json, in_json.translate(_FOR_HTML), json.dumps(plain, ensure_ascii=False)[1:-1])
        yield from (plain.replace("'", in_shell) for in_shell in ("'\"'\"'", "'\\''", "''"))
        yield from (repr(plain)[1:-1], plain.encode("unicode_escape").decode("ascii"))
    lines = value.replace("\\n", "\n").splitlines()
    if len(lines) > 1:
        yield from ("\n".join(lines), "\r\n".join(lines))
        yield from filter(_BODY_LINE.fullmatch, map(str.strip, lines))


def _is_worth_hiding(value: str) -> bool:
    if len(value) >= LONG_ENOUGH:
        return True
    of_two = sum(each.search(value) is not None for each in _CLASSES) > 1
    return len(value) >= SHORTEST and of_two and re.sub(r"[^a-z]+", "", value.lower()) not in _COMMON
