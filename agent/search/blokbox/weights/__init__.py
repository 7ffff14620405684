"""The trained weights: networks (`networks`), and `general.npz` for variants without one (`general`)."""
