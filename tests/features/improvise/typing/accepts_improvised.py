"""What a user may write of improvised replies without an error of a type checker."""

from converse_harness import Fake, reply


def test_scripting(converse: Fake) -> None:
    converse.script(
        reply.improvised(seed=1, tools=["now"]).times(2), lambda call: reply.improvised()(call).paced(each=1)
    )
    converse.when(turn=2).always(reply.improvised(tools="all", at_once=3))
    converse.improvise(seed=1, tools=("now",))
    with converse.script(reply.improvised().optional()) as scripted:
        assert scripted.unused == 0
