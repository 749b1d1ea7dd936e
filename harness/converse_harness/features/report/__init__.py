"""Pages of HTML: the report of a run, recordings, the live page, views in a notebook."""
