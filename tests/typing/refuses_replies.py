"""What a user's type checker must refuse: every line that ends in a comment `error`, and no other."""

import converse_harness
from converse_harness import Fake, citing, fake_converse, reply

converse_harness.replies_  # error

fake_converse(unused="alow")  # error
fake_converse(attempts="1")  # error
reply.text(5)  # error
reply.text("a").times("2")  # error
reply.text("a").paced(0.5)  # error
reply.tool_use("n", "input")  # error
reply.nothing()  # error
reply.cited("a", 5)  # error
citing({}, pages="1")  # error
reply.validation_error()  # error
reply.context_overflow(5)  # error
reply.throttled(wordings="tokens")  # error
reply.model_error(original_status_code="500")  # error


def test_scripting(converse: Fake) -> None:
    converse.script("hi")  # error
    converse.when(modle="*")  # error
    converse.always(lambda call: "hi")  # error
    converse.calls[0].last_user_txt  # error
    converse.calls[0].number = 2  # error
    converse.calls.of(2)  # error
    converse.calls.lst  # error
    converse.calls[0] = converse.calls[1]  # error
    converse.refuses(match="a")  # error
    converse.on_operation("InvokeModel", "text")  # error
    converse.on_operation("InvokeModel", lambda call: "text")  # error
    converse.on_operation("InvokeModel", handler=lambda call: {})  # error
    converse.when(operation="InvokeModel").script("text")  # error
    converse.when(operation="Converse").script({"body": b""})  # error
    converse.when(turn=1).always({"body": b""})  # error
    converse.on_operation("Retrieve", {}, service=5)  # error
    converse.on_operation("Retrieve", reply.output({}).broken("reset"))  # error
    converse.when(service="bedrock-agent").script({})  # error
    converse.script(reply.output({}))  # error
    reply.output("text")  # error
    converse.refuses("a", match=5)  # error
    converse.script(reply.text("a").optional(5))  # error


@fake_converse(reply.text("hi"))
def decorated(number: int) -> str:
    return str(number)


decorated("1")  # error
