"""What calls execute, counted by callgrind: the gate of the budgets."""
