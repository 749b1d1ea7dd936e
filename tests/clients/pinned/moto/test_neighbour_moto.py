"""At peace with moto, which patches what clients do as well."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, Final

import boto3
import pytest
from moto import mock_aws

from converse_harness import fake_converse, reply

QUESTION: Final[dict[str, Any]] = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "hello"}]}]}


@pytest.mark.parametrize("order", ["moto first", "moto last"])
@pytest.mark.parametrize("service", ["bedrock-runtime", "bedrock"])
def test_inside_moto_bedrock_is_ours_and_all_else_motos(order: str, service: str) -> None:
    moto = mock_aws(config={"core": {"service_whitelist": None}})
    with fake_converse() as fake:
        fake.on_operation("ListGuardrails", lambda call: {"guardrails": []})
        if order == "moto last":
            moto.start()
        else:
            fake.close()
            moto.start()
            fake.open()
        try:
            if service == "bedrock":
                assert boto3.client("bedrock", region_name="us-east-1").list_guardrails()["guardrails"] == []
            else:
                fake.always(reply.text("ours"))
                answer = boto3.client("bedrock-runtime", region_name="us-east-1").converse(**QUESTION)
                assert answer["output"]["message"]["content"] == [{"text": "ours"}]
            bucket = boto3.client("s3", region_name="us-east-1")
            bucket.create_bucket(Bucket="theirs")
            assert [found["Name"] for found in bucket.list_buckets()["Buckets"]] == ["theirs"]
        finally:
            moto.stop()
        assert len(fake.calls.all) == 1


def test_moto_has_bedrock_again_after_the_fake() -> None:
    with mock_aws():
        with fake_converse():
            pass
        client = boto3.client("bedrock", region_name="us-east-1")
        assert client.list_custom_models()["modelSummaries"] == []


def test_moto_that_is_imported_under_a_fake_leaves_bedrock_alone() -> None:
    program = """
import boto3
from converse_harness import fake_converse
from converse_harness import reply
with fake_converse(reply.text("ours")) as fake:
    from moto import mock_aws
    import moto.core.botocore_stubber as late
    for loader in (late.__loader__, late.__spec__.loader):
        assert type(loader).__module__ == "_frozen_importlib_external", loader
    with mock_aws():
        question = dict(modelId="m", messages=[{"role": "user", "content": [{"text": "x"}]}])
        print(boto3.client("bedrock-runtime", region_name="us-east-1").converse(**question)["stopReason"])
        print(boto3.client("sts", region_name="us-east-1").get_caller_identity()["Account"])
assert not hasattr(late.BotocoreStubber.__call__, "__wrapped__")
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert done.stdout.split() == ["end_turn", "123456789012"], done.stderr
