"""`with fake.refuses(...)`: a block in which Bedrock refuses a request."""
