"""`--converse-chaos`: tests that passed run again with a fault in one of their replies."""
