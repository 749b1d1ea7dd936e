"""What the person who starts a program may have set, and what none of it may do: lead past the fake, or get out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Final

from converse_harness import Fake

NOBODY: Final = "http://127.0.0.1:9"
"""A port that nobody listens on."""

SURROUNDINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "nothing": {},
    "keys": {
        "AWS_ACCESS_KEY_ID": "AKIAOFTHEUSER",
        "AWS_SECRET_ACCESS_KEY": "secret-of-the-user",
        "AWS_SESSION_TOKEN": "token-of-the-user",
        "AWS_REGION": "eu-central-1",
    },
    "a proxy": dict.fromkeys(
        ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"), NOBODY
    )
    | {"NO_PROXY": "intranet.example"},
    "endpoints": {
        "AWS_ENDPOINT_URL": NOBODY,
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": NOBODY,
        "AWS_BEDROCK_RUNTIME_ENDPOINT": NOBODY,
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
    },
    "kinds of endpoints": {"AWS_USE_FIPS_ENDPOINT": "true", "AWS_USE_DUALSTACK_ENDPOINT": "true"},
}

EVERYTHING: Final = {name: value for variables in SURROUNDINGS.values() for name, value in variables.items()}


def check_no_token(fake: Fake) -> None:
    """No call carried a token of the user's."""
    assert fake.calls
    for call in fake.calls:
        assert "x-amz-security-token" not in call.headers


def said(program: str, environ: dict[str, str]) -> list[str]:
    """The lines that a program prints in these surroundings."""
    done = subprocess.run([sys.executable, "-c", program], env=environ, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
