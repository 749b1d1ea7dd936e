"""Secrets that are none, one of each kind, and the forms in which they may stand in a recording.

They are put together when they are needed, so that nobody who searches this project for secrets finds them.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import random
import string
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final
from urllib.parse import quote

from hypothesis import strategies as st

from converse_harness.secrets.kinds import SecretKind
from converse_harness.secrets.mask import compiled
from converse_harness.stream.events import encode_event

LONG: Final = "q7Rt2Lw9Xz4Kd8Vn3Bm6Pc1Hf5Jg0SyTaEoUi"

REFUSED: Final[Mapping[str, str]] = {
    "an AWS access key id": "AK" + "IAQ7EXAMPLEKEYABCD",
    "an AWS access key id for a while": "AS" + "IAQ2W3E4R5T6Y7U8I9",
    "an AWS secret access key": 'aws_secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYNobodysKey"',
    "an AWS session token": "aws_session_token=" + LONG * 3,
    "an AWS session token alone": "IQoJb3JpZ2lu" + "X2VjEJ" + LONG * 4,
    "an AWS session token of the global STS": "Fwo" + "GZXIvYXdzEHwaD" + LONG * 4,
    "an AWS session token of the global STS, of old": "FQo" + "GZXIvYXdzEHwaD" + LONG * 4,
    "a Bedrock API key": "AB" + "SKQmVkcm9ja0FQSUtleS1" + LONG,
    "a short-term Bedrock API key": "bedrock-api-" + "key-" + LONG,
    "a bearer token": "Bear" + "er " + LONG,
    "the value of an Authorization header": "Authorization: Ba" + "sic YWRhOmNvcnJlY3QgaG9yc2U=",
    "the value of an Authorization header of AWS": "AWS4-HMAC-" + "SHA256 Credential=AK/20260101/us-east-1/bedrock",
    "a signature of AWS": "SignedHeaders=host, Signa" + "ture=" + "0af1" * 16,
    "a cookie": "Set-Cookie: session=" + LONG,
    "an Anthropic API key": "sk-" + "ant-api03-" + LONG,
    "an OpenAI API key": "sk-" + "proj-" + LONG,
    "an OpenAI API key of old": "sk-" + LONG,
    "a Google API key": "AI" + "za" + LONG[:35],
    "a Google OAuth token": "ya" + "29." + LONG,
    "a GitHub token": "gh" + "p_" + LONG,
    "a GitHub token, fine-grained": "github_" + "pat_11ABCDEFG0_" + LONG,
    "a GitLab token": "gl" + "pat-" + LONG[:20],
    "a Slack token": "xo" + "xb-123456789012-" + LONG,
    "a Slack token in a hook": "https://hooks." + f"slack.com/services/T00000000/B00000000/{LONG}",
    "a Stripe key": "sk_" + "live_" + LONG,
    "a Hugging Face token": "hf" + "_" + LONG,
    "an npm token": "np" + "m_" + LONG,
    "a PyPI token": "py" + "pi-AgEIcHlwaS5vcmc" + LONG,
    "a JSON Web Token": "ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + LONG,
    "a private key": "-----BEGIN PRIV" + f"ATE KEY-----\n{LONG}\n{LONG}\n-----END PRIVATE KEY-----",
    "a private key of OpenSSH": "-----BEGIN OPENSSH PRIV" + f"ATE KEY-----\nb3BlbnNzaC1rZXktdjEA{LONG}\n",
    "the body of a private key": "MI" + f"IEvQIBADANBgkqhkiG9w0BAQEFAASC{LONG}\n{LONG}{LONG}",
    "a private key by its name": "Private" + f"Key = {LONG}q7Rt2L=",
    "a token, key or secret beside its name": "x-api-" + f"key: {LONG}",
    "a password beside its name": "DB_PASS" + f"WORD={LONG}",
    "a private key, encrypted": "-----BEGIN RSA PRIV" + f"ATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{LONG}\n",
}
"""By the kind that it is found as, whatever follows in its name: with each of them no file is written."""

MASKED: Final[Mapping[str, str]] = {
    "an AWS account id": "arn:aws:bedrock:us-east-1:210987654321:inference-profile/x",
    "the signature of a URL": "https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signa" + f"ture={'0af1' * 16}&x=1",
    "the signature of a URL of CloudFront": f"https://d1.cloudfront.net/k?Key-Pair-Id={LONG}&x=1",
    "the signature of a URL of Google": f"https://storage.googleapis.com/b/k?X-Goog-Signature={LONG}",
    "the signature of a URL of Azure": f"https://a.blob.core.windows.net/c/k?sv=2026&sig={LONG}%3D&se=1",
    "the session token of a signed request": "host:b\nx-amz-security-token:" + f"FwoGZXIvYXdzE{LONG}\n\nhost",
}
"""What has a mask, or a stand-in, in a file that is written."""

SECRET_PARTS: Final[Mapping[str, str]] = {
    "an AWS account id": "210987654321",
    "the signature of a URL": "0af1" * 16,
    "the signature of a URL of CloudFront": LONG,
    "the signature of a URL of Google": LONG,
    "the signature of a URL of Azure": LONG,
    "the session token of a signed request": LONG,
}
"""What of MASKED must not be there."""


def in_json(text: str) -> str:
    """JSON in a string, with what may be escaped escaped."""
    escaped = "".join(f"\\u{ord(each):04x}" for each in text)
    return f'{{"note": "{escaped}"}}'


def in_zip(text: str) -> bytes:
    """A document as word processors write it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f"<w:t>{text}</w:t>" * 3)
    return file.getvalue()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


ASCII: Final = st.characters(codec="ascii")
READABLE: Final = st.characters(codec="ascii", exclude_categories=["Cc"], include_characters="\0\n\r\t")
"""ASCII without the control characters that begin a sequence for a terminal."""


NAMED: Final[Mapping[str, Sequence[str]]] = {
    "a cookie-\tfalse\t": (
        *("cookie sid: ", 'cookies={"sid": "', 'add_cookie({"name": "sid", "value": "'),
        "example.com\tFALSE\t/\tTRUE\t1999999999\tsid\t",
    ),
    "a token, key or secret beside its name-key": (
        "auth_token: ",
        "client_secret=",
        '"api-key": "',
        "x-functions-key: ",
    ),
    "a password beside its name-passphrase": ("password: ", "DB_PASSWORD=", '"passphrase": "', "Pwd="),
}
"""What stands before a secret whose pattern hypothesis seldom draws, by its kind and last hint."""

_LETTERS: Final = string.ascii_letters + string.digits
_RANDOM: Final = st.integers(0, 2**32).map(lambda seed: "".join(random.Random(seed).choices(_LETTERS, k=32)) + "7")


@cache
def texts_of(kind: SecretKind, alphabet: st.SearchStrategy[str] = ASCII) -> st.SearchStrategy[str]:
    """Texts with what the pattern of a kind matches: secrets are ASCII; what is looked ahead to is drawn as well.

    A strategy is kept: hypothesis takes longer to build it than to draw from it.
    """
    before = NAMED.get(f"{kind.name}-{kind.hints[-1]}")
    if before is not None:
        return st.builds("".join, st.tuples(st.sampled_from(before), _RANDOM))
    return st.from_regex(compiled(kind), fullmatch="(?=@" not in kind.pattern, alphabet=alphabet)


FORMS: Final[Mapping[str, Callable[[str], str]]] = {
    "as it is": lambda text: text,
    "in prose": lambda text: f'I found "{text}", and «{text}».',
    "in JSON in a string": lambda text: json.dumps({"outer": json.dumps({"key": text})}),
    "escaped": in_json,
    "percent-encoded": lambda text: quote(text, safe=""),
    "percent-encoded twice": lambda text: quote(quote(text, safe=""), safe=""),
    "base64": lambda text: _base64(text.encode()),
    "base64 for URLs, unpadded": lambda text: (
        base64.urlsafe_b64encode(b"\xff\xff\xfe" + text.encode()).decode().rstrip("=")
    ),
    "base64 twice": lambda text: _base64(_base64(text.encode()).encode()),
    "base64 in lines": lambda text: base64.encodebytes(b"x " * 100 + text.encode()).decode(),
    "base64 in quoted lines": lambda text: (
        "> " + base64.encodebytes(b"x " * 100 + text.encode()).decode().rstrip().replace("\n", "\n> ")
    ),
    "base64 in the path of a URL": lambda text: f"https://example.com/a/bc/{_base64(text.encode())}",
    "base64 in JSON in base64": lambda text: _base64(json.dumps({"a": _base64(text.encode())}).encode()),
    "a data URL": lambda text: f"data:text/plain;base64,{_base64(text.encode())}",
    "hexadecimal": lambda text: text.encode().hex(),
    "gzip": lambda text: _base64(gzip.compress(text.encode())),
    "zip": lambda text: _base64(in_zip(text)),
    "UTF-16": lambda text: _base64(text.encode("utf-16")),
    "a frame": lambda text: _base64(encode_event({"messageStop": {"stopReason": text}}, 5)),
    "after an image": lambda text: _base64(bytes(range(256)) * 40 + text.encode()),
}
"""How a text may stand in a recording."""
