"""Compare each scripted answer with its request: whether Bedrock could have given it."""
