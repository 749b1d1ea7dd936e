"""The marker `converse_recording`: the recording of a test, and the tally of a run."""
