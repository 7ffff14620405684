"""Rulesheets of games of connection that keep labels of chains."""

from __future__ import annotations

RULES = """
(role x) (role y)
(init (turn x)) (init (tag 1))
{first}
(<= (legal ?p (put ?c ?r)) (true (turn ?p)) (file ?c) (rank ?r) {open})
(<= (legal ?p wait) (role ?p) (not (true (turn ?p))))
(<= (taken ?c ?r) (true (stone ?p ?r ?c)) (role ?p))
(<= (next (turn x)) (true (turn y)))
(<= (next (turn y)) (true (turn x)))
(<= (next (stone ?p ?r ?c)) (role ?p) (or (true (stone ?p ?r ?c)) (does ?p (put ?c ?r))))
(<= (next (tag ?n)) (true (tag ?m)) (after ?m ?n))
(<= (next (of ?p ?t)) (true (turn ?p)) (true (tag ?t)))
(<= (next (of ?p ?t)) (true (of ?p ?t)))
(<= (next (in ?c ?t ?r)) (does ?p (put ?c ?r)) (true (tag ?t)))
(<= (next (in ?c ?t ?r)) (absorbed ?o) (true (in ?c ?o ?r)) (true (tag ?t)))
(<= (next (in ?c ?t ?r)) (true (in ?c ?t ?r)) {kept})
(<= (absorbed ?t) (does ?p (put ?c ?r)) (near ?c ?r ?c2 ?r2) (true (in ?c2 ?t ?r2)) {mine})
(<= (crossed x) (true (in a ?t ?r)) (true (in d ?t ?r2)) (true (of x ?t)) {counts})
(<= (crossed y) (touches 4 ?t) (true (of y ?t)) (touches 1 ?t))
(<= (touches ?r ?t) (true (in ?c ?t ?r)))
(<= (goal ?p 100) (crossed ?p))
(<= (goal ?p 0) (role ?p) (not (crossed ?p)))
(<= terminal (crossed ?p) {over})
(<= terminal full)
(<= full (not free))
(<= free (file ?c) (rank ?r) (not (taken ?c ?r)))
(<= (near ?c ?r ?c ?r2) (file ?c) (or {up} (up ?r2 ?r)))
(<= (near ?c ?r ?c2 ?r) (rank ?r) (or (on ?c ?c2) (on ?c2 ?c)))
(<= (near ?c ?r ?c2 ?r2) (on ?c ?c2) (up ?r2 ?r))
(<= (near ?c ?r ?c2 ?r2) (on ?c2 ?c) (up ?r ?r2))
(file a) (file b) (file c) (file d) (on a b) (on b c) (on c d)
(rank 1) (rank 2) (rank 3) (rank 4) (up 1 2) (up 2 3) (up 3 4)
(after 1 2) (after 2 3) (after 3 4) (after 4 5) (after 5 6) (after 6 7) (after 7 8) (after 8 9) (after 9 10)
(after 10 11) (after 11 12) (after 12 13) (after 13 14) (after 14 15) (after 15 16) (after 16 17)
"""

_USUAL = {
    "first": "",
    "open": "(not (taken ?c ?r))",
    "kept": "(not (absorbed ?t))",
    "mine": "(true (of ?p ?t))",
    "counts": "",
    "over": "",
    "up": "(up ?r ?r2)",
}


BLANKS = """
(<= (init (stone - ?r ?c)) (file ?c) (rank ?r))
(<= (next (stone - ?r ?c)) (true (stone - ?r ?c)) (not (filled ?c ?r)))
(<= (filled ?c ?r) (does ?p (put ?c ?r)))
"""
"""Rules for empty cells, by which moves may be legal."""


def labelled_hex(**other: str) -> str:
    """Hex on a board of 4 by 4 with labels, where some details are other than usual."""
    return RULES.format(**_USUAL | other)
