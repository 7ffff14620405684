"""The trained weights (`*.npz`, one file per variant) and `shipped`, which says what a variant is played with."""
