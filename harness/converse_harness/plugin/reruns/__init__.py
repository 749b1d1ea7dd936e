"""Run finished tests again: without waits, with replies that are watched and replaced, or with another script."""
