"""HTTP/2, and the real service behind a recording proxy."""
