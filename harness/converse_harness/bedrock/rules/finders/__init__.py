"""Functions that find the places where a request breaks a rule, by subject; the rules name them."""
