"""The parts of the pytest plugin: each registers itself, or serves one that does."""
