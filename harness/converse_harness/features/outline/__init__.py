"""`converse.outline()`: what an agent asked and what the script answered, as plain data that stays the same."""
