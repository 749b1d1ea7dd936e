"""Recordings: files with one JSON line per call, answer or event. People can read them, and a fake can replay them."""
