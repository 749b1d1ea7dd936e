"""The prompt cache: prefixes and lifetimes, what a call reads and writes, and prefixes that are written again."""
