"""The scale of alpha-beta's scores on circuits: evaluations, results and proven wins in one integer."""

from __future__ import annotations

WIN = 30000
"""Score of a match won at once; one ply later it is one point less."""
WON = WIN - 1000
"""Scores beyond it are proven wins."""
MOST = 10000
"""Highest score of an evaluation: a sure win; a draw is 0."""
