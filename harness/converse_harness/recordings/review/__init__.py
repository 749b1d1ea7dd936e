"""Recordings for people: compare, show, show for `git diff`."""
