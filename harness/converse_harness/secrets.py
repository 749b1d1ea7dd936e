"""What must never be shown or written, as one table of kinds of secrets and one of headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

MASK: Final = "***"

Headers = tuple[tuple[str, str], ...]

_SECRET_HEADERS: Final = frozenset(
    {"api-key", "authorization", "cookie", "proxy-authorization", "x-amz-security-token", "x-api-key"}
)

STAND_IN: Final = "111122"
"""How the account ids begin that stand in recordings for real ones."""


@dataclass(frozen=True, slots=True)
class SecretKind:
    """One kind of secret: whatever `pattern` matches has one of the `hints` in it, in upper or lower case.

    Hints are written in lower case; a text without any of them is not searched, which is most of the speed.
    What is matched after the group `kept`, if there is one, is the secret. `masked`: recordings have a mask in its
    place; a file with any other kind of secret is not written.
    """

    name: str
    hints: tuple[str, ...]
    pattern: str
    masked: bool = False


_START: Final = r"(?<![A-Za-z0-9])"
_BASE64_START: Final = r"(?<![A-Za-z0-9+/_-])"
# Between the name of a member or header and its value: also in JSON, in JSON inside a string, in Python and in YAML.
_IS: Final = r"""["'\\]{0,4}\s{0,3}[:=]\s{0,3}["'\\]{0,4}"""
_URL_IS: Final = r"(?:=|%3D|%253D|\\u003[dD])"
_URL_VALUE: Final = r"""(?!\*\*\*)(?:(?!%26|%2526)[^&\s"'<>\\,;()\[\]{}])+"""

ACCOUNT_IN_ARN: Final = SecretKind(
    "an AWS account id",
    ("arn",),
    # Also in a path, where each colon is %3A, and in one that was quoted twice
    r"(?P<kept>\barn(?P<colon>:|%3[Aa]|%253[Aa])(?:(?:(?!(?P=colon))[^\s\"'])*(?P=colon)){3})\d{12}(?!\d)",
    masked=True,
)
ACCOUNT_BY_NAME: Final = SecretKind(
    "an AWS account id",
    ("account", "bucketowner"),
    rf"(?P<kept>(?i:account[ _-]?id|aws[ _-]?account(?:[ _-]?number)?|bucketOwner)(?:{_IS}|\s))\d{{12}}(?!\d)",
    masked=True,
)

KINDS: Final = (
    ACCOUNT_IN_ARN,
    ACCOUNT_BY_NAME,
    SecretKind(
        "the signature of a URL",
        ("x-amz-", "x-goog-", "sig", "key-pair-id", "awsaccesskeyid", "googleaccessid"),
        r"(?P<kept>(?:(?i:X-(?:Amz|Goog)-(?:Signature|Credential|Security-Token))"
        rf"|(?:[?&;]|%26|%3F|\\u0026)(?:sig|Signature|Key-Pair-Id|AWSAccessKeyId|GoogleAccessId)){_URL_IS}){_URL_VALUE}",
        masked=True,
    ),
    SecretKind(  # as AWS repeats it when a signature does not match
        "the session token of a signed request",
        ("security-",),
        rf"(?P<kept>(?i:x-amz-security-token){_IS})[A-Za-z0-9+/=%_-]{{16,}}",
        masked=True,
    ),
    SecretKind(
        "an AWS access key id",
        ("akia", "asia", "abia", "acca"),
        rf"{_START}A(?:KI|SI|BI|CC)A[A-Z0-9]{{16}}(?![A-Z0-9])",
    ),
    SecretKind(
        "an AWS secret access key",
        ("secret",),
        rf"(?P<kept>(?i:secret[_ -]?(?:access[_ -]?)?key){_IS})[A-Za-z0-9+/]{{40}}(?![A-Za-z0-9+/])",
    ),
    SecretKind(
        "an AWS session token",
        ("session", "iqojb3jpz2lu", "ogzxivyxdz"),
        rf"(?P<kept>(?i:aws_session_token){_IS})[A-Za-z0-9+/=_-]{{16,}}"
        rf"|(?i:session_?token){_IS}[A-Za-z0-9+/=_-]{{100,}}"
        rf"|{_BASE64_START}(?:IQoJb3JpZ2lu|F[wQ]oGZXIvYXdz)[A-Za-z0-9+/=%_-]{{32,}}",
    ),
    SecretKind("a Bedrock API key", ("absk",), rf"{_BASE64_START}ABSK[A-Za-z0-9+/]{{16,}}={{0,2}}"),
    SecretKind(
        "a short-term Bedrock API key", ("bedrock-api-key-",), rf"{_START}bedrock-api-key-[A-Za-z0-9+/=_-]{{16,}}"
    ),
    SecretKind(
        "a bearer token",
        ("bearer",),
        # With a digit: "the bearer responsibilities" are none
        rf"(?P<kept>{_START}[Bb](?:earer|EARER)\s+)(?=[A-Za-z._~+/=-]*\d)[A-Za-z0-9._~+/=-]{{16,}}",
    ),
    SecretKind(
        "the value of an Authorization header",
        ("authorization", "aws4-hmac"),
        rf"(?P<kept>(?i:authorization){_IS}(?:Basic|Digest|Token|ApiKey|Negotiate)\s+)[A-Za-z0-9._~+/=-]{{12,}}"
        r"|AWS4-HMAC-SHA256\s+Credential=[^\s,*]+",
    ),
    SecretKind("a signature of AWS", ("signature=",), r"(?P<kept>\bSignature=)[0-9a-f]{64}"),
    SecretKind(
        "a cookie",
        ("cookie",),
        rf"(?P<kept>(?i:\b(?:set-)?cookie){_IS}[\w.-]{{1,64}}=)(?=[^\s;,\"']*\d)[^\s;,\"']{{16,}}",
    ),
    SecretKind(
        "the value of an API key header",
        ("api-",),
        rf"(?P<kept>(?i:\b(?:x-)?api-key){_IS})(?=[A-Za-z._-]*\d)[A-Za-z0-9._-]{{16,}}",
    ),
    SecretKind("an Anthropic API key", ("sk-ant-",), rf"{_START}sk-ant-[A-Za-z0-9_-]{{16,}}"),
    SecretKind(
        "an OpenAI API key",
        ("sk-",),
        rf"{_START}sk-(?:(?:proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_-]{{16,}}|[A-Za-z0-9]{{20,}})",
    ),
    SecretKind("a Google API key", ("aiza",), rf"{_BASE64_START}AIza[A-Za-z0-9_-]{{35}}(?![A-Za-z0-9_-])"),
    SecretKind("a Google OAuth token", ("ya29.", "gocspx-"), rf"{_START}(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{{20,}}"),
    SecretKind(
        "a GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        rf"{_START}(?:gh[pousr]_[A-Za-z0-9]{{30,}}|github_pat_[A-Za-z0-9_]{{22,}})",
    ),
    SecretKind(
        "a GitLab token",
        ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-"),
        rf"{_START}gl(?:pat|dt|rt|ptt|cbt)-[A-Za-z0-9_-]{{20,}}",
    ),
    SecretKind(
        "a Slack token",
        ("xox", "xapp-", "hooks.slack.com"),
        rf"{_START}(?:xox[abeoprs]-(?=[A-Za-z-]*\d)[A-Za-z0-9-]{{10,}}|xapp-\d-[A-Za-z0-9-]{{10,}})"
        r"|hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{30,}",
    ),
    SecretKind(
        "a Stripe key",
        ("k_live_", "k_test_", "whsec_"),
        rf"{_START}(?:[rs]k_(?:live|test)_[A-Za-z0-9]{{16,}}|whsec_[A-Za-z0-9+/]{{24,}})",
    ),
    SecretKind("a Hugging Face token", ("hf_",), rf"{_START}hf_[A-Za-z0-9]{{30,}}"),
    SecretKind("an npm token", ("npm_",), rf"{_START}npm_[A-Za-z0-9]{{30,}}"),
    SecretKind("a PyPI token", ("pypi-age",), rf"{_START}pypi-AgE[A-Za-z0-9_-]{{16,}}"),
    SecretKind(
        "a JSON Web Token",
        ("eyj",),
        rf"{_START}eyJ[A-Za-z0-9_-]{{10,}}\.[A-Za-z0-9_-]{{4,}}\.[A-Za-z0-9_-]{{10,}}",
    ),
    SecretKind(
        "a private key",
        ("private key", "openssh-key-v1\0"),
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"[^\x00]{0,300}?[A-Za-z0-9+/=]{16,}(?:(?:[\r\n]|\\[nr])+[A-Za-z0-9+/=]+)*"
        r"|openssh-key-v1\x00",
    ),
)
"""Every kind of secret. What people say about secrets, hashes, ids and signatures of reasoning are none."""


@cache
def compiled(kind: SecretKind) -> re.Pattern[str]:
    """The pattern of a kind, made when it is first needed: to make all of them takes milliseconds."""
    return re.compile(kind.pattern, re.ASCII)


def secret_spans(kind: SecretKind, text: str) -> list[tuple[int, int]]:
    """Where in a text there is a secret of this kind: start and end of each."""
    return [secret_span(found) for _, found in matches(text, (kind,))]


def secret_span(found: re.Match[str]) -> tuple[int, int]:
    """Start and end of the secret itself in what the pattern of a kind matched."""
    kept = found.re.groupindex.get("kept")
    start = found.start() if kept is None or found.start(kept) < 0 else found.end(kept)
    return start, found.end()


def matches(text: str, kinds: Iterable[SecretKind] = KINDS) -> Iterator[tuple[SecretKind, re.Match[str]]]:
    """What the patterns of some kinds match in a text, kind by kind.

    >>> [(kind.name, found[0]) for kind, found in matches("my key is AKIAIOSFODNN7EXAMPLE")]
    [('an AWS access key id', 'AKIAIOSFODNN7EXAMPLE')]
    """
    # Every character stays at its place: U+0130 is the only one that becomes two in lower case.
    lowered = text.replace("\u0130", "i").lower()
    for kind in kinds:
        if any(hint in lowered for hint in kind.hints):
            parts = [(0, len(text))] if len(text) < _LARGE else _near_hints(kind, lowered)
            for start, end in parts:
                for found in compiled(kind).finditer(text, start, end):
                    yield kind, found


_LARGE: Final = 256 * 1024
_BEFORE_HINT: Final = 256
_AFTER_HINT: Final = 16 * 1024


def _near_hints(kind: SecretKind, lowered: str) -> Iterator[tuple[int, int]]:
    """The parts of a text that have a hint of this kind: in an image of megabytes three letters stand by chance."""
    start = end = 0
    for place in sorted(found.start() for hint in kind.hints for found in re.finditer(re.escape(hint), lowered)):
        if not end or place - _BEFORE_HINT > end:
            if end:
                yield start, end
            start = max(place - _BEFORE_HINT, 0)
        end = place + _AFTER_HINT
    yield start, end


def mask(text: str) -> str:
    """The text without its secrets, for failure messages and reports.

    >>> mask("arn:aws:bedrock:us-east-1:123456789012:inference-profile/x")
    'arn:aws:bedrock:us-east-1:***:inference-profile/x'
    >>> mask("/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aprompt%2Fx/other")
    '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A***%3Aprompt%2Fx/other'
    """
    for kind in KINDS:
        for start, end in reversed(secret_spans(kind, text)):
            text = text[:start] + MASK + text[end:]
    return text


def mask_headers(headers: Headers) -> Headers:
    """The headers with the values of the secret ones masked."""
    return tuple((name, MASK if name.lower() in _SECRET_HEADERS else value) for name, value in headers)


def header_secrets(headers: Headers) -> Iterator[str]:
    """The tokens in the secret ones of some headers; a signature of AWS holds none.

    >>> list(header_secrets((("Cookie", "a=1; b=2"), ("authorization", "Bearer t"))))
    ['1', '2', 't']
    """
    for name, value in headers:
        if name.lower() == "cookie":
            yield from (each.partition("=")[2].strip() for each in value.split(";"))
        elif name.lower() in _SECRET_HEADERS and not value.startswith("AWS4-"):
            yield value.split()[-1] if value.strip() else ""
