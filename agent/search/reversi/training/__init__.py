"""Training of the evaluation's weights: self-play and regression, and `quick`, which makes weights during a match."""
