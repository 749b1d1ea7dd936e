"""What the transports of all HTTP libraries of this process have in common."""
