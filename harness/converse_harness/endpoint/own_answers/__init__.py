"""The answers that the fake gives without a script: of the control plane, and to paths that are no operation."""
