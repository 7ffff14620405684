"""The soonest win and the hardest defence in proven positions."""

from __future__ import annotations

import numpy as np
import pytest

from agent.search.choosing import general
from agent.search.choosing.general import GeneralSearch
from agent.search.engine import Limit, Opinion, Score, limited
from agent.search.evaluation.features import find_features
from agent.search.evaluation.network import linear_evaluation
from agent.search.learning.learner import Learner
from agent.search.tree.engine import TreeSearch
from games.gdl.running.machine import CircuitMachine
from tests.circuits import Compile

WAYS = """
    (role w) (role b) (init (at start)) (init (control w))
    (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5)
    (way {soon} 1) (way {later} 3) (way {last} 5)
    (<= (legal w ?way) (true (at start)) (way ?way ?plies))
    (<= (legal w go) (true (control w)) (not (true (at start))))
    (<= (legal b noop) (true (control w)))
    (<= (legal w noop) (true (control b)))
    (<= (legal b {winning}) (true (control b)))
    (<= (legal b {losing}) (true (control b)) (true (at 1)))
    (<= (next (at ?plies)) (true (at start)) (does w ?way) (way ?way ?plies))
    (<= (next (at ?n)) (true (at ?more)) (succ ?n ?more))
    (<= (next (over {winner})) (true (at 1)) (does b {winning}))
    (<= (next (over {loser})) (true (at 1)) (does b {losing}))
    (<= (next (control b)) (true (control w)))
    (<= (next (control w)) (true (control b)))
    (<= terminal (true (over ?any)))
    (<= (goal ?role 100) (role ?role) (true (over ?role)))
    (<= (goal ?role 0) (role ?role) (not (true (over ?role))))
"""
"""`w` chooses the number of plies until `b` ends the match with a move that decides the winner."""

REPLIES = """
    (role w) (role b) (init (at start))
    (way {few} few) (way {more} more) (way {most} most)
    (reply few (go 1)) (reply more (go 1)) (reply most (go 1)) (reply more (go 2)) (reply most (go 2))
    (reply most (go 3)) (reply few right) (reply more right) (reply most right)
    (<= (legal w ?way) (true (at start)) (way ?way ?replies))
    (<= (legal w noop) (not (true (at start))))
    (<= (legal b noop) (true (at start)))
    (<= (legal b ?reply) (true (at ?replies)) (reply ?replies ?reply))
    (<= (next (at ?replies)) (does w ?way) (way ?way ?replies))
    (<= (next (over b)) (does b right))
    (<= (next (over w)) (does b (go ?number)))
    (<= terminal (true (over ?any)))
    (<= (goal ?role 100) (true (over ?role)))
    (<= (goal ?role 0) (role ?role) (not (true (over ?role))))
"""
"""`w` chooses the number of replies by which `b` loses a won match."""

ORDERS = [("aa", "bb", "cc"), ("cc", "bb", "aa"), ("bb", "aa", "cc")]


@pytest.fixture(autouse=True)
def _turns_are_for_searching(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(general, "LATE_SHARE", 0.0)
    monkeypatch.setattr(general, "GLANCE_SHARE", 0.0)


def ways(machine_of: Compile, order: tuple[str, str, str], *, lost: bool) -> CircuitMachine:
    """The game above, lost or won for `w`, with these names for the ways."""
    soon, later, last = order
    winner, loser = ("b", "w") if lost else ("w", "w")
    text = WAYS.format(soon=soon, later=later, last=last, winning="go", losing="err", winner=winner, loser=loser)
    return machine_of(text)


def opinions_of(machine: CircuitMachine, *, knowing: bool = True) -> list[Opinion]:
    """Opinions of an engine for which tree search plays; `knowing` an evaluation of the game or not."""
    engine = GeneralSearch(machine, 0, threads=1, seed=5, memory_bytes=1 << 22)
    engine.begin(machine.initial())
    preparation = engine._preparation
    preparation.suits = knowing
    if knowing:
        features = find_features(machine)
        start = linear_evaluation(np.zeros(features.n), 0.0)
        preparation.learner = Learner(machine, features, start)
        preparation.trials.points, preparation.trials.matches = 0.0, 12
        assert not preparation.prefers_alpha_beta
    found: list[Opinion] = []
    with limited(np.zeros(1, np.uint8), 60.0) as stop:
        engine.think(stop, lambda opinion: None if stop[0] else found.append(opinion), Limit(60.0))
    return found


@pytest.mark.parametrize("order", ORDERS)
def test_who_has_lost_holds_out(machine_of: Compile, order: tuple[str, str, str]) -> None:
    """The longer the match, the more often the opponent may err. The turn lasts until the longest defence is known."""
    opinions = opinions_of(ways(machine_of, order, lost=True))
    last = opinions[-1]
    assert (last.move, last.score, last.final) == (order[2], Score(0.0, proven=True, plies=6), True)
    assert not any(opinion.final and opinion.move != order[2] for opinion in opinions)


@pytest.mark.parametrize("knowing", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_who_has_lost_leaves_most_ways_to_go_wrong(
    machine_of: Compile, order: tuple[str, str, str], *, knowing: bool
) -> None:
    """Of moves that lose equally soon, the one after which most replies give the win away."""
    few, more, most = order
    machine = machine_of(REPLIES.format(few=few, more=more, most=most))
    *earlier, last = opinions_of(machine, knowing=knowing)
    assert (last.move, last.final, last.score and last.score.estimate) == (most, True, Score(0.0))
    assert not any(opinion.final for opinion in earlier)


@pytest.mark.parametrize("order", ORDERS)
def test_the_soonest_win_is_found(machine_of: Compile, monkeypatch: pytest.MonkeyPatch, order: tuple[str, ...]) -> None:
    """Tree search may play any winning move; the turn does not wait for a search for the soonest."""
    slowest = Opinion(order[2], Score(100.0, proven=True), final=True)
    monkeypatch.setattr(TreeSearch, "think", lambda self, stop, report, limit: report(slowest))
    opinions = opinions_of(ways(machine_of, order, lost=False))
    assert opinions[0] == slowest
    last = opinions[-1]
    assert (last.move, last.score, last.final) == (order[0], Score(100.0, proven=True, plies=2), True)
    assert all(opinion.final for opinion in opinions)


@pytest.mark.parametrize("lost", [False, True])
def test_without_an_evaluation_a_proof_is_the_last_word(machine_of: Compile, lost: bool) -> None:
    """Alpha-beta cannot count plies then."""
    last = opinions_of(ways(machine_of, ORDERS[0], lost=lost), knowing=False)[-1]
    assert last.final
    assert last.score == Score(0.0 if lost else 100.0, proven=True)
    assert "playouts" in last.info
