"""What a user's type checker must refuse of improvised replies: every line that ends in a comment `error`."""

from converse_harness import reply

reply.improvised("all")  # error
reply.improvised(at_once="2")  # error
