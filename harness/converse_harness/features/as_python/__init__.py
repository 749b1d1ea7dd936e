"""`converse-harness new-test`: a recording as the source of a test."""
