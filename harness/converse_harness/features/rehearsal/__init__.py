"""`--converse-as` and `converse-harness rehearse`: what another model would refuse."""
