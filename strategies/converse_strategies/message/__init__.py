"""Parts of messages: blocks of the assistant, tools, files, citations, guardrails, and whole messages."""
