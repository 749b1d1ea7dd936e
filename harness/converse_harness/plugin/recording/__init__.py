"""The marker `converse_recording`: the recording of a test, and the facts of a run about all recordings."""
