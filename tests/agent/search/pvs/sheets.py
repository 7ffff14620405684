"""Small games for alpha-beta."""

from __future__ import annotations

TURNS = "wwbnbw"
"""The mover of each step of `HEAP`: `w`, `b`, or nobody."""


def heap(size: int, most: int = 3) -> str:
    """A game of taking one to `most` of `size` things, in the order of `TURNS`; taking the last one wins.

    White moves twice in a row at times, and in some steps nobody has a choice. No state occurs at two steps.
    """
    steps = range(2 * size + len(TURNS))
    lines = [f"(role w) (role b) (init (heap {size})) (init (step 0))"]
    lines += [f"(then {i} {i + 1})" for i in steps]
    lines += [f"(mover {i} {TURNS[i % len(TURNS)]})" for i in steps if TURNS[i % len(TURNS)] != "n"]
    lines += [f"(less {n} {k} {n - k})" for n in range(size + 1) for k in range(1, most + 1) if k <= n]
    return (
        "\n".join(lines)
        + """
        (<= (moves ?r) (true (step ?s)) (mover ?s ?r))
        (<= (legal ?r (take ?k)) (moves ?r) (true (heap ?n)) (less ?n ?k ?rest))
        (<= (legal ?r noop) (role ?r) (not (moves ?r)))
        (<= taking (does ?r (take ?k)))
        (<= (next (heap ?rest)) (does ?r (take ?k)) (true (heap ?n)) (less ?n ?k ?rest))
        (<= (next (heap ?n)) (true (heap ?n)) (not taking))
        (<= (next (step ?t)) (true (step ?s)) (then ?s ?t))
        (<= (next (last ?r)) (does ?r (take ?k)))
        (<= (next (last ?r)) (true (last ?r)) (not taking))
        (<= terminal (true (heap 0)))
        (<= (goal ?r 100) (true (last ?r)))
        (<= (goal ?r 0) (role ?r) (not (true (last ?r))))
    """
    )


MARKS = (
    "\n".join(f"(index {i})" for i in range(1, 13))
    + """
    (role w) (role b) (other w b) (other b w)
    (init (control w))
    (<= (marked ?x ?y) (true (cell ?x ?y ?r)))
    (<= (legal ?r (mark ?x ?y)) (true (control ?r)) (index ?x) (index ?y) (not (marked ?x ?y)))
    (<= (legal ?r noop) (other ?r ?o) (true (control ?o)))
    (<= (next (control ?o)) (true (control ?r)) (other ?r ?o))
    (<= (next (cell ?x ?y ?r)) (true (cell ?x ?y ?r)))
    (<= (next (cell ?x ?y ?r)) (does ?r (mark ?x ?y)))
    (<= terminal (true (cell 1 2 ?r)) (true (cell 12 11 ?r)))
    (<= terminal (marked 6 6))
    (<= (goal ?r 100) (true (cell 1 2 ?r)) (true (cell 12 11 ?r)))
    (<= (goal ?r 40) (role ?r) (not (true (cell 12 12 ?r))) (not (marked 1 2)))
    (<= (goal ?r 70) (true (cell 12 12 ?r)) (not (marked 1 2)))
"""
)
"""144 moves; each word of children has terminal states, with goals or without."""

DEAD_END = """
    (role w) (role b) (init (at 0))
    (<= (legal w ?m) (true (at 0)) (way ?m ?to))
    (way left 1) (way right 2)
    (<= (legal w stay) (true (at 1)))
    (<= (legal b stay) (true (at 0)))
    (<= (legal b stay) (true (at 2)))
    (<= (legal w stay) (true (at 2)))
    (<= (next (at ?to)) (does w ?m) (way ?m ?to))
    (<= (next (at 3)) (does w stay))
    (<= terminal (true (at 3)))
    (<= (goal w 100) (true (at 1)))
    (<= (goal w 50) (true (at 3)))
    (<= (goal b 0) (true (at 1)))
    (<= (goal b 50) (true (at 3)))
"""
"""To the left black has no move, in a state that the goals call a win of white; to the right nobody has a choice."""

COOPERATION = """
    (role w) (role b) (init (step 0)) (then 0 1) (then 1 2) (mover 0 w) (mover 1 b)
    (<= (legal ?r left) (true (step ?s)) (mover ?s ?r))
    (<= (legal ?r right) (true (step ?s)) (mover ?s ?r))
    (<= (legal ?r noop) (role ?r) (true (step ?s)) (not (mover ?s ?r)))
    (<= (next (step ?t)) (true (step ?s)) (then ?s ?t))
    (<= (next (went ?r left)) (does ?r left))
    (<= (next (went ?r ?m)) (true (went ?r ?m)))
    (<= terminal (true (step 2)))
    (<= (goal ?r 100) (role ?r) (true (went w left)) (true (went b left)))
    (<= (goal ?r 0) (role ?r) (not (true (went w left))))
    (<= (goal ?r 0) (role ?r) (true (went w left)) (not (true (went b left))))
"""
"""Two players who take turns and get the same."""

RACE = """
    (role w) (role b) (other w b) (other b w)
    (init (at w 0)) (init (at b 0)) (init (step 1))
    (then 0 1) (then 1 2) (then 2 3) (after 1 2) (after 2 3) (after 3 4) (after 4 5) (after 5 6)
    (<= (legal ?r run) (role ?r))
    (<= (legal ?r rest) (role ?r))
    (<= (legal ?r block) (role ?r) (not (true (tired ?r))))
    (<= (next (tired ?r)) (does ?r block))
    (<= (stopped ?r) (other ?r ?o) (does ?o block))
    (<= (goes ?r) (does ?r run) (not (stopped ?r)))
    (<= (next (at ?r ?y)) (true (at ?r ?x)) (then ?x ?y) (goes ?r))
    (<= (next (at ?r 3)) (true (at ?r 3)))
    (<= (next (at ?r ?x)) (true (at ?r ?x)) (not (goes ?r)))
    (<= (next (step ?t)) (true (step ?s)) (after ?s ?t))
    (<= terminal (true (at ?r 3)))
    (<= terminal (true (step 6)))
    (<= (won ?r) (true (at ?r 3)) (other ?r ?o) (not (true (at ?o 3))))
    (<= (goal ?r 100) (won ?r))
    (<= (goal ?r 0) (other ?r ?o) (won ?o))
    (<= (goal ?r 50) (role ?r) (not (won w)) (not (won b)))
"""
"""Both choose at once: a step, or a block of the other's step; nobody may block twice in a row."""
