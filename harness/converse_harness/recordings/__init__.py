"""Recordings: files with one JSON line per call, answer or event, which people can read and a fake can replay."""
