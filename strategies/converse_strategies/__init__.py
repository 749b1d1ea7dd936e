"""Hypothesis strategies for what travels over Amazon Bedrock's Converse API."""
