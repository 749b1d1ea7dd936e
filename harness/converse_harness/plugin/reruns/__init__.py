"""Run tests again that passed: without waits, with replies that are watched and replaced."""
