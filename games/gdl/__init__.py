"""From GDL rules to a `StateMachine`: check -> normalise -> rewrite -> ground -> circuit -> kernels; interpreter
beside it."""
