"""`converse-harness import`: cassettes of vcrpy become recordings."""
