"""`converse-harness init vitest`: the fixture for vitest."""
