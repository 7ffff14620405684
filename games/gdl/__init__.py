"""From GDL rules to a `StateMachine`: check, normalise, rewrite, ground, circuit, kernels; an interpreter beside it."""
