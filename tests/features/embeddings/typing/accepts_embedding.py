"""What a user may write of `reply.embedding` without an error of a type checker."""

from converse_harness import Fake, reply


def test_scripting(converse: Fake) -> None:
    converse.on_operation("InvokeModel", reply.embedding())
    converse.when(operation="InvokeModel", model="cohere.*").always(reply.embedding("glaciers", dimensions=256))
    converse.on_operation("InvokeModel", lambda call: {**reply.embedding(of=7)(call), "contentType": "text/plain"})
