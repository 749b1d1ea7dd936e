"""What a user's type checker must refuse of `reply.embedding`: every line that ends in a comment `error`."""

from converse_harness import Fake, reply

reply.embedding(0.5)  # error
reply.embedding(dimensions="256")  # error
reply.embedding().times(2)  # error
Fake().script(reply.embedding())  # error
