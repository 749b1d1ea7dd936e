"""What a user's type checker must refuse of samples: every line that ends in a comment `error`, and no other."""

from converse_harness import samples

samples.smaple("Message")  # error
samples.sample()  # error
samples.sample(1)  # error
kind: int = samples.pii("EMAIL")  # error
samples.variants(["delta"])  # error
