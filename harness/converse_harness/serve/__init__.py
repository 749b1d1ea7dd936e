"""`converse-harness serve`: a script, or only the control API, for other processes, languages and people."""
