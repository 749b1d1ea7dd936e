"""Recording inside of moto: Bedrock is asked for real and recorded, and every other service is moto's."""

import io
from pathlib import Path
from typing import Any

import boto3
import moto
import pytest
import urllib3
from botocore.awsrequest import AWSResponse
from botocore.httpsession import URLLib3Session

from converse_harness import record


def real(session: URLLib3Session, request: Any) -> AWSResponse:
    """What Bedrock answers."""
    data = io.BytesIO(b'{"output":{"message":{"role":"assistant","content":[{"text":"real"}]}}}')
    raw: Any = urllib3.HTTPResponse(data, {"Content-Type": "application/json"}, 200, preload_content=False)
    response = AWSResponse(request.url, 200, raw.headers, raw)
    assert response.content  # botocore's own session reads a whole body at once
    return response


def test_moto_beside_it_leaves_bedrock_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with moto.mock_aws(), record(tmp_path / "session.jsonl") as recorder:
        monkeypatch.setattr(URLLib3Session, "send", real)
        answer = boto3.client("bedrock-runtime").converse(
            modelId="m", messages=[{"role": "user", "content": [{"text": "hello"}]}]
        )
        assert answer["output"]["message"]["content"] == [{"text": "real"}]
        assert boto3.client("s3").list_buckets()["Buckets"] == []
    assert len(recorder.calls) == 1
    assert "real" in (tmp_path / "session.jsonl").read_text(encoding="utf-8")
