"""A plain engine for Reversi, to measure others against: alpha-beta by rules of thumb, without patterns."""

from __future__ import annotations

from agent.search.reversi.engine import ReversiEngine
from agent.search.reversi.evaluation import PatternEvaluation
from agent.search.reversi.selectivity import DEFAULT_COEFFICIENTS
from agent.search.reversi.weights.shipped import HEURISTIC, WeightSet, extent
from games.gdl.running.machine import CircuitMachine
from games.native.reversi.recognise import recognise

PLAIN_DEPTH = 6
"""Plies that it searches. Set by hand; not tuned."""


def make_plain_engine(machine: CircuitMachine, role: int) -> ReversiEngine | None:
    """The engine for one role (by index); None where the machine plays no game of the family."""
    binding = recognise(machine)
    if binding is None:
        return None
    variant = binding.variant
    evaluation = PatternEvaluation.heuristic(*extent(variant.playable), variant.sign)
    weights = WeightSet(evaluation, DEFAULT_COEFFICIENTS, HEURISTIC)
    return ReversiEngine(machine, role, binding, weights=weights, max_depth=PLAIN_DEPTH)
