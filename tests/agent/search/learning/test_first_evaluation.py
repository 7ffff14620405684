"""The first evaluation: what random matches teach."""

from __future__ import annotations

import math
import time
from random import Random

import numpy as np

from agent.search.evaluation.features import find_features, shared_patterns
from agent.search.evaluation.network import linear_evaluation
from agent.search.learning.first_evaluation import imitate_random_play
from agent.search.learning.learner import Learner
from tests.circuits import Compile

GO = np.zeros(1, np.uint8)


def test_facts_of_one_pattern_share_what_is_learnt() -> None:
    """Facts with more arguments in common share more patterns; other relations share none."""
    facts = [("cell", "a", "1", "x"), ("cell", "b", "1", "x"), ("cell", "a", "1", "o"), ("turn", "x"), "late"]
    shared = shared_patterns(facts)
    # The relation, and: row, mark, row with mark; column, row, column with row; row.
    assert (shared[0, 1], shared[0, 2], shared[1, 2]) == (4, 4, 2)
    assert not shared[0, 3:].any()
    assert not shared[4].any()


def test_learns_what_pieces_are_worth(own: Compile) -> None:
    """In Breakthrough a piece is worth more the closer it has come, to both sides."""
    machine = own("breakthrough")
    facts, features = machine.game.fluents, find_features(machine)
    learner = Learner(machine, features, linear_evaluation(np.zeros(features.n), 0.0))
    assert imitate_random_play(machine, learner, Random(1), math.inf, GO)
    weights = learner.evaluation.weights
    white, black = (
        [np.mean([w for fact, w in zip(facts, weights, strict=False) if fact[2:] == (row, side)]) for row in rows]
        for side, rows in (("white", ("3", "6", "7")), ("black", ("6", "3", "2")))
    )
    for near, middle, far, sign in ((*reversed(white), 1), (*reversed(black), -1)):
        assert sign * near > 1.5 * sign * middle > 1.5 * sign * far


def test_one_batch_is_played_however_late_it_is(own: Compile) -> None:
    """Also when time is up, or a stop is wanted: the next turn has an evaluation then."""
    machine = own("connect_four")
    features = find_features(machine)
    learner = Learner(machine, features, linear_evaluation(np.zeros(features.n), 0.0))
    assert imitate_random_play(machine, learner, Random(1), time.monotonic(), np.ones(1, np.uint8))
    assert learner.evaluation.weights.any()


def test_learns_nothing_where_matches_are_over_at_once(own: Compile, machine_of: Compile) -> None:
    """There is no state to learn from."""
    machine = machine_of(
        """
        (role w) (role b) (init (at 0)) (<= (legal ?r go) (role ?r)) (<= (next (at 1)) (does w go))
        (<= terminal (true (at 1))) (goal w 100) (goal b 0)
        """
    )
    features = find_features(machine)
    learner = Learner(machine, features, linear_evaluation(np.zeros(features.n), 0.0))
    assert not imitate_random_play(machine, learner, Random(1), math.inf, GO)
