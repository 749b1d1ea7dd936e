"""Has the service drifted from a recording: ask the recorded requests again, and compare the answers."""
