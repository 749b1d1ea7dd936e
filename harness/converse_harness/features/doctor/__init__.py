"""`converse-harness doctor`: what may keep a fake from working here."""
