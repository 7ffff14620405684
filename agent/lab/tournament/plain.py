"""A plain engine for Reversi, to measure others against: alpha-beta with rules of thumb instead of patterns."""

from __future__ import annotations

from agent.search.reversi.engine import ReversiEngine
from agent.search.reversi.evaluation import PatternEvaluation
from agent.search.reversi.selectivity import DEFAULT_COEFFICIENTS
from agent.search.reversi.weights.shipped import HEURISTIC, WeightSet, extent
from games.gdl.running.machine import CircuitMachine
from games.native.reversi.recognise import recognise

PLAIN_DEPTH = 6
"""Plies that it searches."""


def make_plain_engine(machine: CircuitMachine, role: int) -> ReversiEngine | None:
    """Returns the engine for one role (by index); None for a game of another family."""
    binding = recognise(machine)
    if binding is None:
        return None
    variant = binding.variant
    evaluation = PatternEvaluation.heuristic(*extent(variant.playable), variant.sign)
    weights = WeightSet(evaluation, DEFAULT_COEFFICIENTS, HEURISTIC)
    return ReversiEngine(machine, role, binding, weights=weights, max_depth=PLAIN_DEPTH)
