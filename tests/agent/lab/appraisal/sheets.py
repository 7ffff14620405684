"""Small games with faults."""

from __future__ import annotations

from pathlib import Path

from agent.sheet import Sheet, load

ENDLESS = """
(role a) (role b)
(init (at a 1)) (init (at b 2)) (init (control a))
(succ 1 2) (succ 2 3) (succ 3 1)
(other a b) (other b a)
(<= (legal ?r (step ?y)) (true (control ?r)) (true (at ?r ?x)) (succ ?x ?y))
(<= (legal ?r noop) (role ?r) (not (true (control ?r))))
(<= (next (at ?r ?y)) (does ?r (step ?y)))
(<= (next (at ?r ?x)) (true (at ?r ?x)) (does ?r noop))
(<= (next (control ?s)) (true (control ?r)) (other ?r ?s))
(<= terminal (true (at a home)))
(<= (goal a 100) (true (at a home)))
(<= (goal ?r 0) (role ?r) (not (true (at a home))))
"""
"""Two walk round a ring, and never come home."""

UNWINNABLE = """
(role quick) (role slow)
(init (at quick 0)) (init (at slow 0)) (init (control quick))
(plus 0 1 1) (plus 1 1 2) (plus 2 1 3) (plus 3 1 4) (plus 0 2 2) (plus 1 2 3) (plus 2 2 4) (plus 3 2 4)
(other quick slow) (other slow quick)
(<= (legal quick (go ?n)) (true (control quick)) (true (at quick ?x)) (plus ?x ?n ?y))
(<= (legal slow (go 1)) (true (control slow)))
(<= (legal ?r noop) (role ?r) (not (true (control ?r))))
(<= (next (at ?r ?y)) (does ?r (go ?n)) (true (at ?r ?x)) (plus ?x ?n ?y))
(<= (next (at ?r ?x)) (true (at ?r ?x)) (does ?r noop))
(<= (next (control ?s)) (true (control ?r)) (other ?r ?s))
(<= terminal (true (at ?r 4)))
(<= (goal ?r 100) (true (at ?r 4)))
(<= (goal ?r 0) (role ?r) (not (true (at ?r 4))))
"""
"""A race to four, in which the second role takes steps of one and always comes too late."""

STUCK = """
(role a) (role b)
(init (left 2))
(succ 0 1) (succ 1 2)
(<= (legal ?r take) (role ?r) (true (left 2)))
(<= (legal a take) (true (left 1)))
(<= (next (left ?m)) (true (left ?n)) (succ ?m ?n))
(<= terminal (true (left 0)))
(<= (goal ?r 50) (role ?r))
"""
"""After one step the second role has no move."""

DEAD = """
(role r)
(init (place hall))
(<= (legal r (go garden)) (true (place hall)))
(<= (legal r (go cellar)) (true (place hall)))
(<= (legal r (open door)) (true (place garden)) (true (key iron)))
(<= (next (place ?x)) (does r (go ?x)))
(<= (next (key iron)) (does r (go attic)))
(<= (next (key iron)) (true (key iron)))
(<= (legal r (go attic)) (true (place cellar)) (true (place garden)))
(<= terminal (true (place garden)))
(<= terminal (true (place cellar)))
(<= (goal r 100) (true (place garden)))
(<= (goal r 0) (true (place cellar)))
"""
"""The attic is behind two places that nobody is in at once, so that nobody ever has the key."""


def sheet_of(text: str, folder: Path) -> Sheet:
    """Writes a rulesheet to a file, and reads it."""
    file = folder / "sheet.kif"
    file.write_text(text)
    return load(str(file))
