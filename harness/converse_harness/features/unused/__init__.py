"""`converse-harness prune` and `--converse-used`: recordings that no test uses, or whose test was renamed."""
