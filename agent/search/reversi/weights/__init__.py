"""The trained weights (`*.npz`, one file per variant) and `shipped`, which picks a variant's weights."""
