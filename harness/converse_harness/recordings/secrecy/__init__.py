"""What must not be on disk: what is replaced in a recording, and the search for the rest before it is written."""
