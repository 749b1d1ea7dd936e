"""The environment of somebody who has access to Bedrock: what a recording must not hold."""

import pytest

KEY_ID, SECRET, TOKEN = "AKIDOFADEVELOPER", "the-secret-of-a-developer", "the-session-token-of-a-developer"
REGION = "eu-central-1"


def give_access(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the variables in which boto3 finds credentials and a region."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
