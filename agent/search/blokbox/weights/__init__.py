"""The trained weights: `general.npz` for variants without a network, the others networks, which `networks` finds."""
