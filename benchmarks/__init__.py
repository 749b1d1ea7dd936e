"""The budgets of the design, measured: `python -m benchmarks`, from the root of a checkout."""
