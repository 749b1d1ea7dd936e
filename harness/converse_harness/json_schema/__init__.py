"""JSON Schemas of tools and of structured output: whether a value satisfies one, and the least value that does."""
