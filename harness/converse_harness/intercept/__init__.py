"""Clients of this process: what answers them, what forwards and captures, what stops every other way to Bedrock."""
