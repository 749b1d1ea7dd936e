"""Check values against the JSON Schemas of tools and of structured output, and make the least value that is valid."""
