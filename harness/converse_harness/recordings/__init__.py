"""Sessions with a provider on disk: one line of JSON for each thing that happened, read by people and replayed."""
