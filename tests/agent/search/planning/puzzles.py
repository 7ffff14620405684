"""Rulesheets of small puzzles, each hard in another way."""

from __future__ import annotations

from itertools import groupby, product


def latin_square(size: int) -> str:
    """Fill a grid, in any order, so that each row and column has all numbers at the end."""
    numbers = range(1, size + 1)
    return "\n".join(
        [
            "(role solver)",
            *(f"(number {n})" for n in numbers),
            "(<= (used ?x ?y) (true (cell ?x ?y ?n)))",
            "(<= (legal solver (put ?x ?y ?n)) (number ?x) (number ?y) (number ?n) (not (used ?x ?y)))",
            "(<= (next (cell ?x ?y ?n)) (does solver (put ?x ?y ?n)))",
            "(<= (next (cell ?x ?y ?n)) (true (cell ?x ?y ?n)))",
            "(<= bad (true (cell ?x ?y ?n)) (true (cell ?x ?z ?n)) (distinct ?y ?z))",
            "(<= bad (true (cell ?y ?x ?n)) (true (cell ?z ?x ?n)) (distinct ?y ?z))",
            "(<= free (number ?x) (number ?y) (not (used ?x ?y)))",
            "(<= terminal (not free))",
            "(<= (goal solver 100) (not free) (not bad))",
            "(<= (goal solver 0) free)",
            "(<= (goal solver 0) bad)",
        ]
    )


def nonogram(picture: list[str], counted: str = "", legal: str = "") -> str:
    """Mark the cells of a square picture, given the blocks of each row and column.

    A block that is too long ends the match, and so does a counter of moves. `counted` is a condition of its steps,
    `legal` one of the moves.
    """
    size = len(picture)
    numbers = range(1, size + 1)
    lines = [f"(succ {n} {n + 1})" for n in range(size * size)]
    for name, rows in (("row", picture), ("column", ["".join(column) for column in zip(*picture, strict=True)])):
        for n, row in zip(numbers, rows, strict=True):
            blocks = [len(list(cells)) for mark, cells in groupby(row) if mark == "#"]
            lines += [f"(line {name}{n} {len(blocks)} {max(blocks, default=0)})"]
            lines += [f"(block {name}{n} {k} {length})" for k, length in enumerate(blocks, 1)]
            lines += [f"(at {name}{n} {m} {n if name == 'row' else m} {m if name == 'row' else n})" for m in numbers]
    lines += [
        "(role solver) (init (step 0))",
        "(<= (marked ?l ?p) (at ?l ?p ?x ?y) (true (mark ?x ?y)))",
        "(<= (blank ?l ?p) (at ?l ?p ?x ?y) (not (true (mark ?x ?y))))",
        f"(<= (legal solver (put ?x ?y)) (at ?l ?p ?x ?y) (not (true (mark ?x ?y))) {legal})",
        "(<= (next (mark ?x ?y)) (does solver (put ?x ?y)))",
        "(<= (next (mark ?x ?y)) (true (mark ?x ?y)))",
        f"(<= (next (step ?n)) (true (step ?m)) {counted} (succ ?m ?n))",
        # Marks up to a cell, without a blank.
        "(<= (run ?l 0 0) (line ?l ?k ?most))",
        "(<= (run ?l ?p 0) (blank ?l ?p))",
        "(<= (run ?l ?q ?n) (run ?l ?p ?m) (succ ?p ?q) (marked ?l ?q) (succ ?m ?n))",
        "(<= bad (line ?l ?k ?most) (succ ?most ?n) (run ?l ?p ?n))",
        # Blocks up to a cell that are as they should be, and the marks of the last one while it is incomplete.
        "(<= (read ?l 0 0 0) (line ?l ?k ?most))",
        "(<= (read ?l ?q ?k 0) (read ?l ?p ?k 0) (succ ?p ?q) (blank ?l ?q))",
        "(<= (read ?l ?q ?k 0) (read ?l ?p ?k ?m) (succ ?p ?q) (blank ?l ?q) (block ?l ?k ?m))",
        "(<= (read ?l ?q ?k 1) (read ?l ?p ?j 0) (succ ?p ?q) (marked ?l ?q) (succ ?j ?k) (block ?l ?k ?m))",
        "(<= (read ?l ?q ?k ?n) (read ?l ?p ?k ?m) (distinct ?m 0) (succ ?p ?q) (marked ?l ?q) (succ ?m ?n))",
        f"(<= (right ?l) (line ?l ?k ?most) (read ?l {size} ?k 0))",
        f"(<= (right ?l) (line ?l ?k ?most) (block ?l ?k ?m) (read ?l {size} ?k ?m))",
        "(<= wrong (line ?l ?k ?most) (not (right ?l)))",
        "(<= terminal bad)",
        "(<= terminal (not wrong))",
        f"(<= terminal (true (step {size * size})))",
        "(<= (goal solver 100) (not wrong))",
        "(<= (goal solver 0) wrong)",
    ]
    return "\n".join(lines)


WALK = """
(role r) (init (at 0)) (init (step 0))
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6)
(<= (legal r right) (true (at ?x)) (succ ?x ?y))
(<= (legal r left) (true (at ?y)) (succ ?x ?y))
(<= (next (at ?y)) (does r right) (true (at ?x)) (succ ?x ?y))
(<= (next (at ?x)) (does r left) (true (at ?y)) (succ ?x ?y))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= terminal (true (step 6)))
(<= terminal (true (at 3)))
(<= (goal r 60) (true (at 3)) (not (true (step 5))))
(<= (goal r 90) (true (at 3)) (true (step 5)))
(<= (goal r 100) (true (at 5)))
(<= (goal r 10) (not (true (at 3))) (not (true (at 5))))
"""
"""A walk on a line that ends at 3, or after six steps; 90 for getting there in five. Nothing leads to 100."""

BRIDGES = """
(role builder) (init (built 0))
(succ 0 1) (succ 1 2) (succ 2 3)
(bridge a b) (bridge b a) (bridge b c) (bridge c b) (bridge c d) (bridge d c) (bridge d e) (bridge e d)
(bridge a c)
(<= (legal builder (build ?x ?y)) (bridge ?x ?y) (not (true (open ?x ?y))))
(<= (next (open ?x ?y)) (does builder (build ?x ?y)))
(<= (next (open ?x ?y)) (true (open ?x ?y)))
(<= (next (built ?n)) (true (built ?m)) (succ ?m ?n))
(reached a)
(<= (reached ?y) (reached ?x) (true (open ?x ?y)))
(<= terminal (true (built 3)))
(<= (goal builder 100) (reached e))
(<= (goal builder 30) (reached d) (not (reached e)))
(<= (goal builder 0) (not (reached d)))
"""
"""Three bridges suffice from a to e by way of c; a ring of open bridges reaches itself, but nothing else does."""

LOCK = """
(role r) (init (left 0)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4)
(switch s1) (switch s2) (switch s3) (switch s4)
(<= (legal r (press ?s)) (switch ?s))
(<= (next (on ?s)) (does r (press ?s)) (not (true (on ?s))))
(<= (next (on ?s)) (true (on ?s)) (not (does r (press ?s))))
(<= (next (left ?y)) (true (left ?x)) (succ ?x ?y))
(<= terminal (true (left 4)))
(<= (goal r 100) (true (on s1)) (true (on s2)) (true (on s3)) (not (true (on s4))))
(<= (goal r 20) (not (true (on s1))))
(<= (goal r 20) (true (on s1)) (not (true (on s2))))
(<= (goal r 20) (true (on s1)) (true (on s2)) (not (true (on s3))))
(<= (goal r 20) (true (on s1)) (true (on s2)) (true (on s3)) (true (on s4)))
"""
"""Three switches are to be on after four presses, which is impossible; no random match shows it."""


def counting(size: int) -> str:
    """Put stones that do not touch on a row: the goal is their number, which can be climbed."""
    cells = range(size)
    best = (size + 1) // 2
    lines = [f"(next_to {x} {y})" for x, y in product(cells, cells) if abs(x - y) == 1]
    lines += [f"(cell {x})" for x in cells] + [f"(succ {n} {n + 1})" for n in range(best)]
    lines += [
        "(role r) (init (count 0))",
        "(<= (blocked ?x) (true (stone ?x)))",
        "(<= (blocked ?x) (true (stone ?y)) (next_to ?x ?y))",
        "(<= (legal r (put ?x)) (cell ?x) (not (blocked ?x)))",
        "(<= (next (stone ?x)) (does r (put ?x)))",
        "(<= (next (stone ?x)) (true (stone ?x)))",
        "(<= (next (count ?m)) (true (count ?n)) (succ ?n ?m))",
        "(<= able (legal r ?m))",
        "(<= terminal (not able))",
    ]
    lines += [f"(<= (goal r {100 * n // best}) (true (count {n})))" for n in range(best + 1)]
    return "\n".join(lines)


def locks(number: int, able: str = "") -> str:
    """Open locks of four pins in nine steps; each move works on all locks at once, on each in its own way.

    `able` is a condition of working on lock `?n` in the way `?w`.
    """
    numbers = range(1, number + 1)
    ways = " ".join(f"?w{n}" for n in numbers)
    return "\n".join(
        [
            "(role r) (init (step 1)) (way flip) (way swap) (way turn) (pin 1) (pin 2) (pin 3) (pin 4)",
            *(f"(lock {n})" for n in numbers),
            *(f"(succ {n} {n + 1})" for n in range(1, 10)),
            f"(<= (able ?n ?w) (lock ?n) (way ?w) {able})",
            f"(<= (legal r (work {ways})) {' '.join(f'(able {n} ?w{n})' for n in numbers)})",
            *(f"(<= (worked {n} ?w{n}) (does r (work {ways})))" for n in numbers),
            "(<= (next (up ?n 1)) (worked ?n flip) (not (true (up ?n 1))))",
            "(<= (next (up ?n ?p)) (worked ?n flip) (true (up ?n ?p)) (distinct ?p 1))",
            "(<= (next (up ?n 1)) (worked ?n swap) (true (up ?n 2)))",
            "(<= (next (up ?n 2)) (worked ?n swap) (true (up ?n 1)))",
            "(<= (next (up ?n ?p)) (worked ?n swap) (true (up ?n ?p)) (distinct ?p 1) (distinct ?p 2))",
            "(<= (next (up ?n ?q)) (worked ?n turn) (true (up ?n ?p)) (succ ?p ?q) (pin ?q))",
            "(<= (next (up ?n 1)) (worked ?n turn) (true (up ?n 4)))",
            "(<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))",
            "(<= shut (lock ?n) (pin ?p) (not (true (up ?n ?p))))",
            "(<= terminal (true (step 10)))",
            "(<= (goal r 100) (not shut))",
            "(<= (goal r 0) shut)",
        ]
    )
