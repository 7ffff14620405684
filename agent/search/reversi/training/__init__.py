"""How the evaluation's weights are made: self-play, regression, and the fit of Multi-ProbCut's error model."""
