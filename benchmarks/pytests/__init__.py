"""What pytest costs, in processes of its own: tests, those of other tools, and the start of a run."""
