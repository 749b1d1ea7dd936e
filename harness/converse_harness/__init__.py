"""A fake Amazon Bedrock Converse endpoint for tests."""
