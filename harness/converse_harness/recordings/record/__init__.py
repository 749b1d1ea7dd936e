"""Record a session: what a transport captured, as lines, masked, beside what was there."""
