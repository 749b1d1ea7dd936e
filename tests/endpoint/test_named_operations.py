"""Operations that have an answer of their own, and the conditions that name them to give another."""

from __future__ import annotations

import json
from typing import Any

import pytest

from converse_harness import Call, Fake, Reply, ReplyError, bedrock, reply
from converse_harness.errors import json_text
from converse_harness.stream.http import Request

MESSAGES = [{"role": "user", "content": [{"text": "word " * 100}]}]
HAS_COUNT_TOKENS = "CountTokens" in bedrock.operations()


def count(fake: Fake) -> tuple[int, dict[str, Any]]:
    """Status and body of what CountTokens answers."""
    body = json.dumps({"input": {"converse": {"messages": MESSAGES}}}).encode()
    return sent(fake, Request("POST", "/model/anthropic.claude-haiku-4-5-20251001-v1%3A0/count-tokens", (), body))


def converse(fake: Fake) -> tuple[int, dict[str, Any]]:
    body = json.dumps({"messages": MESSAGES}).encode()
    return sent(fake, Request("POST", "/model/us.amazon.nova-lite-v1%3A0/converse", (), body))


def sent(fake: Fake, request: Request) -> tuple[int, dict[str, Any]]:
    response = fake.core.exchange(request).response
    return response.status, json.loads(b"".join(chunk.data for chunk in response.chunks) or b"{}")


ESTIMATE = (200, {"inputTokens": 126})
THROTTLED = (429, {"message": "Slow down"})


def test_a_path_that_is_no_operation_is_never_answered_by_a_condition() -> None:
    fake = Fake(reply.text("hi"))
    fake.when(turn=1).always(reply.text("first"))
    assert sent(fake, Request("GET", "/", (), b""))[0] == 404
    assert sent(fake, Request("POST", "/model/m/invoke", (), b"{}"))[0] == 404


if HAS_COUNT_TOKENS:

    def test_an_error_answers_count_tokens_where_it_is_named_and_then_the_estimate_again() -> None:
        fake = Fake(reply.text("hi"))
        fake.when(operation="CountTokens", model="*haiku*").script(reply.throttled("Slow down").times(2))
        assert [count(fake), converse(fake)[0], count(fake), count(fake)] == [THROTTLED, 200, THROTTLED, ESTIMATE]
        assert [call.reply is None for call in fake.calls.all] == [False, False, False, True]
        fake.check()

    def test_replies_that_do_not_name_it_are_not_used_up() -> None:
        fake = Fake(reply.text("script"))
        fake.when(model="*").script(reply.text("model"))
        fake.when(lambda call: True).script(reply.text("predicate"))
        fake.when(operation="CountTokens", model="other").always(reply.throttled())
        fake.when(operation="Converse").script(reply.text("Converse"))
        fake.always(reply.text("always"))
        assert count(fake) == ESTIMATE
        assert not any(slot.used_by for _, slot in fake.endpoint.script.slots())
        assert [converse(fake)[0] for _ in range(5)] == [200] * 5
        fake.check()

    def test_the_name_comes_before_a_handler() -> None:
        fake = Fake()
        fake.on_operation("CountTokens", lambda call: {"inputTokens": 42})
        fake.when(operation="CountTokens").script(reply.throttled("Slow down"))
        assert [count(fake), count(fake)] == [THROTTLED, (200, {"inputTokens": 42})]
        fake.check()

    def test_a_connection_failure() -> None:
        fake = Fake()
        fake.when(operation="CountTokens").script(reply.connection_refused())
        body = json.dumps({"input": {"converse": {"messages": MESSAGES}}}).encode()
        request = Request("POST", "/model/m/count-tokens", (), body)
        assert fake.core.exchange(request).response.failure == "connection refused"

    def test_a_computed_reply_that_is_no_error_fails_the_test() -> None:
        def slow(call: Call) -> Reply:
            return reply.throttled("Slow down") if call.number == 1 else reply.text("hi")

        fake = Fake()
        fake.when(operation="CountTokens").script(slow, slow)
        assert count(fake) == THROTTLED
        assert count(fake)[0] == 400
        with pytest.raises(ReplyError, match=r'^text "hi" cannot answer CountTokens: only an error before the stream'):
            fake.check()

    def test_a_reply_that_is_no_error_is_refused_where_it_is_written() -> None:
        when = Fake().when(operation="CountTokens")
        for write in (when.script, when.always):
            with pytest.raises(ReplyError, match=r"text \"hi\" cannot answer CountTokens: .* give the output"):
                write(reply.text("hi"))
        broken = reply.text("hi").fails_after(1, "throttlingException")
        with pytest.raises(ReplyError, match=r"text \"hi\", throttlingException after 1 event cannot answer Count"):
            when.script(broken)

else:

    def test_an_older_model_says_that_it_lacks_the_operation() -> None:
        with pytest.raises(
            ReplyError, match=r"^when\(operation='CountTokens'\): no service of Bedrock .* in botocore 1\."
        ):
            Fake().when(operation="CountTokens")


@pytest.mark.parametrize("name", ["converse", "InvokeModle", ""])
def test_an_operation_that_no_service_has_is_refused(name: str) -> None:
    with pytest.raises(ReplyError) as caught:
        Fake().when(operation=name)
    why = "no service of Bedrock has an operation of this name in botocore "
    assert str(caught.value).startswith(f"when(operation={name!r}): {why}")
    assert json_text(caught.value).startswith(f'when.operation is "{name}": {why}')
