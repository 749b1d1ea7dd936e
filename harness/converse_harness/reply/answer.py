"""Replies and the table `bedrock.fit`: the answer of a reply, and replies that are meant not to fit their requests."""

from __future__ import annotations

from dataclasses import replace

from converse_harness.bedrock.fit import Answer
from converse_harness.errors import StreamOrderError
from converse_harness.reply.body import Body, EventsBody, MessageBody
from converse_harness.reply.reply import Reply
from converse_harness.stream.assemble import assemble, in_aws_form


def answer_of(body: Body) -> Answer | None:
    """Return the answer of a reply's body; None if it is an error, or amounts to no whole message.

    >>> from converse_harness import reply
    >>> answer_of(reply.text("hi", stop_reason="max_tokens").plan.body).stop_reason
    'max_tokens'
    """
    if isinstance(body, MessageBody):
        return Answer(body.content, body.stop_reason, body.options, body.tokens)
    if not isinstance(body, EventsBody):
        return None
    try:
        return Answer.of(in_aws_form(assemble(body.events)))
    except (StreamOrderError, LookupError, TypeError):  # such as a stream that fails, or an input that is no JSON
        return None


def meant(reply: Reply, misfits: tuple[str, ...]) -> Reply:
    """Return a copy of a reply that is meant not to fit its request by these rows, so that no note is made of them."""
    return replace(reply, plan=replace(reply.plan, misfits=misfits))
