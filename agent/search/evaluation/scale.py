"""The scale of alpha-beta's scores on circuits: evaluations, results and proven wins in one integer."""

from __future__ import annotations

WIN = 30000
"""Score of a win at the root; each ply until the win costs one point."""
WON = WIN - 1000
"""Higher scores are proven wins."""
MOST = 10000
"""Highest score of an evaluation: a sure win. A draw is 0."""
