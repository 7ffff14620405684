"""Rulesheets of heaps."""

from __future__ import annotations


def one_heap(size: int, most: int) -> str:
    """One to `most` of `size` things are taken by turns; who takes the last one wins."""
    less = [f"(less {n} {k} {n - k})" for n in range(1, size + 1) for k in range(1, min(most, n) + 1)]
    return f"""
    (role one) (role two) (other one two) (other two one) (init (heap {size})) (init (control one))
    {" ".join(less)}
    (<= (legal ?r (take ?k)) (true (control ?r)) (true (heap ?n)) (less ?n ?k ?rest))
    (<= (legal ?r noop) (role ?r) (not (true (control ?r))))
    (<= (next (heap ?rest)) (does ?r (take ?k)) (true (heap ?n)) (less ?n ?k ?rest))
    (<= (next (control ?r)) (true (control ?o)) (other ?o ?r))
    (<= terminal (true (heap 0)))
    (<= (goal ?r 100) (role ?r) (not (true (control ?r))))
    (<= (goal ?r 0) (true (control ?r)))
"""


# Two heaps: one or two things are taken at a time, and who takes the last of a heap has won it.
_HEAPS = """
    (role w) (role b) (other w b) (other b w)
    (init (heap 1 7)) (init (heap 2 7))
    (less 7 1 6) (less 6 1 5) (less 5 1 4) (less 4 1 3) (less 3 1 2) (less 2 1 1) (less 1 1 0)
    (less 7 2 5) (less 6 2 4) (less 5 2 3) (less 4 2 2) (less 3 2 1) (less 2 2 0)
    (<= (next (heap ?h ?rest)) (does ?r (take ?h ?k)) (true (heap ?h ?n)) (less ?n ?k ?rest))
    (<= (next (won ?r ?h)) (does ?r (take ?h ?k)) (true (heap ?h ?n)) (less ?n ?k 0))
    (<= (some ?r) (true (won ?r ?h)))
"""
_BY_TURNS = """
    (init (turn w 1)) (init (turn b 2))
    (<= (legal ?r (take ?h ?k)) (true (turn ?r ?h)) (true (heap ?h ?n)) (less ?n ?k ?rest))
    (<= (next (turn ?r ?h)) (true (turn ?o ?h)) (other ?o ?r))
    (<= terminal (true (heap ?h 0)))
"""

ALTERNATING = (
    _HEAPS
    + _BY_TURNS
    + """
    (<= (goal ?r 100) (some ?r) (other ?r ?o) (not (some ?o)))
    (<= (goal ?r 50) (role ?r) (some w) (some b))
    (<= (goal ?r 50) (role ?r) (not (some w)) (not (some b)))
    (<= (goal ?r 0) (role ?r) (not (some ?r)) (other ?r ?o) (some ?o))
"""
)
"""Both move at once, each on the heap where the other one has just moved; a heap that is empty ends the match."""

BOTH_NEEDED = (
    _HEAPS
    + _BY_TURNS
    + """
    (<= (goal w 100) (some w) (some b))
    (<= (goal w 0) (not (some w)))
    (<= (goal w 0) (not (some b)))
    (<= (goal b 100) (not (some w)))
    (<= (goal b 100) (not (some b)))
    (<= (goal b 0) (some w) (some b))
"""
)
"""The same, but the first role wins if both take a last thing at once."""

FREE_CHOICE = (
    _HEAPS
    + """
    (init (control w))
    (<= (legal ?r (take ?h ?k)) (true (control ?r)) (true (heap ?h ?n)) (less ?n ?k ?rest))
    (<= (legal ?r wait) (other ?r ?o) (true (control ?o)))
    (<= (taken ?h) (does ?r (take ?h ?k)))
    (<= (next (heap ?h ?n)) (true (heap ?h ?n)) (not (taken ?h)))
    (<= (next (won ?r ?h)) (true (won ?r ?h)))
    (<= (next (control ?r)) (true (control ?o)) (other ?o ?r))
    (<= terminal (true (heap 1 0)) (true (heap 2 0)))
    (<= (both ?r) (true (won ?r 1)) (true (won ?r 2)))
    (<= (goal ?r 100) (both ?r))
    (<= (goal ?r 0) (other ?r ?o) (both ?o))
    (<= (goal ?r 50) (role ?r) (not (both w)) (not (both b)))
"""
)
"""The roles take turns, and choose a heap."""
