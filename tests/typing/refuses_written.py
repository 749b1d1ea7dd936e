"""What a type checker must refuse of written replies: every line that ends in a comment `error`, and no other."""

from converse_harness import chunk, fake_converse, record, recording, reply
from converse_strategies import stream_events

reply.text("a", stop_reason="finished")  # error
reply.message({"text": "a"}, stop_reason="finished")  # error
reply.tool_use("now", stop_reason="finished")  # error
reply.error("ThrottlingExeption")  # error
reply.text("a").fails_after(1, "throttled")  # error
reply.throttled(wording="token")  # error
reply.context_overflow("too_long")  # error
reply.guardrail_blocked(policy="topics")  # error
reply.guardrail_blocked(policy="automated_reasoning")  # error
reply.guardrail_blocked(side="both")  # error
reply.guardrail_masked("a", policy="topic")  # error
reply.guardrail_passed("a", policy="pi")  # error
chunk({"role": "assistant", "content": []}, family="gpt")  # error
fake_converse(rules="strickt")  # error
fake_converse(history="no")  # error
fake_converse(unused="never")  # error
recording("a.jsonl", match="shapes")  # error
record("a.jsonl", mode="onec")  # error
stream_events(family="gpt")  # error

reply.tool_use("now", ["a"])  # error
reply.tool_use("now", text=5)  # error
reply.tool_uses({"now": {}})  # error
reply.tool_uses(("now", "a"))  # error
reply.text("a", usage=5)  # error
reply.reasoning("a", {"text": "b"})  # error
reply.reasoning("a", "b", signature=5)  # error
reply.response(5)  # error
reply.response("a")  # error
reply.events("a")  # error
reply.message("a")  # error
reply.text("a").events("gpt")  # error
reply.text("a").broken("cut_off")  # error
