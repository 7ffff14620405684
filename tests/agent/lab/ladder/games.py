"""Two small games, and engines that play them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from agent.lab.ladder.outside import OutsideEngine
from games.machine import Term
from tests.heaps import one_heap

HEAP = one_heap(7, 2)
"""One or two are taken in turn; who takes the last one wins."""

RACE = """
(role white) (role black)
(init (cell 1 1 white)) (init (cell 2 1 white)) (init (cell 3 1 white))
(init (cell 1 4 black)) (init (cell 2 4 black)) (init (cell 3 4 black))
(init (control white))
(x 1) (x 2) (x 3)
(<= (forwards white ?y ?z) (succ ?y ?z))
(<= (forwards black ?z ?y) (succ ?y ?z))
(succ 1 2) (succ 2 3) (succ 3 4)
(<= (taken ?x ?y) (true (cell ?x ?y ?r)))
(<= (goes ?r ?x ?y ?x ?z) (true (cell ?x ?y ?r)) (forwards ?r ?y ?z) (not (taken ?x ?z)))
(<= (goes ?r ?x ?y ?u ?z) (true (cell ?x ?y ?r)) (forwards ?r ?y ?z) (beside ?x ?u) (x ?u)
    (not (true (cell ?u ?z ?r))))
(<= (beside ?x ?u) (succ ?x ?u))
(<= (beside ?u ?x) (succ ?x ?u))
(<= (legal ?r (move ?x ?y ?u ?z)) (true (control ?r)) (goes ?r ?x ?y ?u ?z))
(<= (legal ?r noop) (role ?r) (not (true (control ?r))))
(<= (next (cell ?u ?z ?r)) (does ?r (move ?x ?y ?u ?z)))
(<= (next (cell ?x ?y ?r)) (true (cell ?x ?y ?r)) (not (left ?x ?y)))
(<= (left ?x ?y) (does ?r (move ?x ?y ?u ?z)))
(<= (left ?u ?z) (does ?r (move ?x ?y ?u ?z)))
(<= (next (control white)) (true (control black)))
(<= (next (control black)) (true (control white)))
(<= (home white) (true (cell ?x 4 white)))
(<= (home black) (true (cell ?x 1 black)))
(<= (mobile ?r) (goes ?r ?x ?y ?u ?z))
(<= over (home ?r))
(<= over (true (control ?r)) (not (mobile ?r)))
(<= terminal over)
(<= (goal ?r 100) (role ?r) (home ?r))
(<= (goal ?r 100) (role ?r) (not (home white)) (not (home black)) (not (true (control ?r))))
(<= (goal ?r 0) (home ?s) (role ?r) (distinct ?r ?s))
(<= (goal ?r 0) (not (home white)) (not (home black)) (true (control ?r)))
"""
"""Breakthrough on 3 columns by 4 rows; who cannot move loses."""


class HeapEngine(OutsideEngine):
    """Plays `HEAP`, perfectly where it has no limit, else it takes one."""

    name = "heaps"

    def __init__(self, heap: int = 7, fails: str = "") -> None:
        self._heap, self._fails = heap, fails

    def spell(self, role: str, move: Term) -> str | None:
        return move[1] if move[0] == "take" and isinstance(move[1], str) else None

    def legal(self, line: Sequence[str]) -> Collection[str]:
        if self._fails == "legal":
            raise ZeroDivisionError("division by zero")
        return [str(taken) for taken in (1, 2) if taken <= self._left(line)]

    def choose(self, line: Sequence[str], rung: int | None) -> str:
        if self._fails == "choose":
            raise ZeroDivisionError("division by zero")
        values = self.values(line)
        return "1" if rung else max(values, key=values.__getitem__)

    def values(self, line: Sequence[str]) -> Mapping[str, float]:
        return {move: 1.0 if (self._left(line) - int(move)) % 3 == 0 else -1.0 for move in self.legal(line)}

    def result(self, line: Sequence[str]) -> float | None:
        return 1.0

    def _left(self, line: Sequence[str]) -> int:
        return self._heap - sum(map(int, line))


def make(options: dict[str, str]) -> OutsideEngine:
    """The engine for `--engine`: this file is one that a user may name."""
    return HeapEngine(int(options.get("heap", 7)), options.get("fails", ""))
