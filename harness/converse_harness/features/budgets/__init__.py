"""Budgets: how much the agent of a test may ask; `--converse-costs` and `converse-harness costs`."""
