"""One call in, one response out, without I/O: the script, the rules, the answer, and what failures say."""
