"""Rulesheets of games that the first role has lost from the beginning, and an opponent that errs now and then."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean

from games.gdl.running.machine import CircuitMachine
from games.machine import State, Term

_TURNS = """
(role w) (role b) (other w b) (other b w) (init (control w))
(<= (legal ?r wait) (other ?r ?o) (true (control ?o)))
(<= (next (control ?r)) (true (control ?o)) (other ?o ?r))
(<= terminal (not able))
(<= (goal ?r 100) (true (control ?r)))
(<= (goal ?r 0) (other ?r ?o) (true (control ?o)))
"""

STONE = (
    _TURNS
    + """
(init (stone 1 1)) (init (spent 1 1))
(line 1) (line 2) (line 3) (line 4) (beside 1 2) (beside 2 3) (beside 3 4)
(<= (near ?a ?b) (beside ?a ?b))
(<= (near ?a ?b) (beside ?b ?a))
(<= (fits ?x ?y) (true (stone ?x ?y1)) (near ?y1 ?y) (not (true (spent ?x ?y))))
(<= (fits ?x ?y) (true (stone ?x1 ?y)) (near ?x1 ?x) (not (true (spent ?x ?y))))
(<= able (fits ?x ?y))
(<= (legal ?r (shift ?x ?y)) (true (control ?r)) (fits ?x ?y))
(<= (next (stone ?x ?y)) (does ?r (shift ?x ?y)))
(<= (next (spent ?x ?y)) (does ?r (shift ?x ?y)))
(<= (next (spent ?x ?y)) (true (spent ?x ?y)))
"""
)
"""One stone on a board of 4 by 4 is shifted to a neighbouring cell by turns, never where it was; who cannot shift it
wins."""

HEAPS = (
    _TURNS
    + """
(init (heap a 2)) (init (heap b 3)) (init (heap c 4)) (init (heap d 5))
(less 0 1) (less 0 2) (less 0 3) (less 0 4) (less 0 5) (less 1 2) (less 1 3) (less 1 4) (less 1 5)
(less 2 3) (less 2 4) (less 2 5) (less 3 4) (less 3 5) (less 4 5)
(<= able (true (heap ?h ?n)) (less 0 ?n))
(<= (legal ?r (leave ?h ?k)) (true (control ?r)) (true (heap ?h ?n)) (less ?k ?n))
(<= (left ?h) (does ?r (leave ?h ?k)))
(<= (next (heap ?h ?k)) (does ?r (leave ?h ?k)))
(<= (next (heap ?h ?n)) (true (heap ?h ?n)) (not (left ?h)))
"""
)
"""Four heaps, of which one is made smaller by turns; who takes the last thing loses."""

ERRORS = 0.3
"""Share of random moves of the opponent, whose other moves win if it can."""

Policy = Callable[[State], Term]


class ErringOpponent:
    """The chances of role 0 in one of these games, where the opponent errs now and then."""

    def __init__(self, machine: CircuitMachine) -> None:
        self._machine = machine
        self._wins: dict[State, bool] = {}

    def wins(self, state: State) -> bool:
        """Whether role 0 wins whatever the opponent does."""
        machine = self._machine
        if state not in self._wins:
            if machine.terminal(state):
                self._wins[state] = machine.goal(state, 0) == 100
            else:
                results = map(self.wins, self._following(state).values())
                self._wins[state] = all(results) if self._opponent_moves(state) else any(results)
        return self._wins[state]

    def chance(self, policy: Policy | None) -> float:
        """The chance of a won position in a match by these moves for role 0, or by the best ones (None)."""
        known: dict[State, float] = {}

        def chance_at(state: State) -> float:
            if state not in known:
                known[state] = find(state)
            return known[state]

        def find(state: State) -> float:
            if self._machine.terminal(state) or self.wins(state):
                return float(self.wins(state))
            following = self._following(state)
            if self._opponent_moves(state):
                right = [chance_at(one) for one in following.values() if not self.wins(one)]
                return ERRORS * mean(map(chance_at, following.values())) + (1 - ERRORS) * mean(right)
            return max(map(chance_at, following.values())) if policy is None else chance_at(following[policy(state)])

        return chance_at(self._machine.initial())

    def _opponent_moves(self, state: State) -> bool:
        return self._machine.legal(state, 0) == ["wait"]

    def _following(self, state: State) -> dict[Term, State]:
        """The state after each move of whoever is to move."""
        machine, opponent = self._machine, self._opponent_moves(state)
        moves = machine.legal(state, int(opponent))
        return {move: machine.next(state, ("wait", move) if opponent else (move, "wait")) for move in moves}
