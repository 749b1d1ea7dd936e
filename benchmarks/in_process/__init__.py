"""What is measured in this process: streams, calls, conversations, recordings, and parts of them."""
