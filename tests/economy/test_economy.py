"""Rulesheets cost what they did, and what may explode is bounded: counted, not timed."""

from __future__ import annotations

import contextlib
import csv
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from games.gdl.rules.check import check
from games.gdl.rules.diagnostics import InvalidRulesError
from protocol.kif import read_rulesheet
from tests.conftest import TESTS
from tests.matches import interpreter_of

TOLERANCE = {"tree": 0.1, "statements": 0.02}
"""Share by which a figure may differ: floating point numbers of other processors grow other trees, and the order of the
interpreter's joins may depend on hashes."""
USUAL_TOLERANCE = 0.01
"""That of the others: another version of clingo may ground a rule less."""

Row = dict[str, str]


@pytest.mark.parametrize("group", ["own", "corpus"])
def test_rulesheets_cost_what_they_did(group: str, request: pytest.FixtureRequest) -> None:
    """Ground rules, circuit, lean game, interpreter, alpha-beta and tree search of each sheet, as pinned."""
    if group == "corpus":
        request.getfixturevalue("corpus")
    # Loops over sets end at the first success, so what they cost depends on the order of hashes.
    done = subprocess.run(
        [sys.executable, "-m", "tests.economy.measure", group],
        cwd=TESTS.parent,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    differences = different(read(Path(__file__).with_name(f"{group}.csv").read_text()), read(done.stdout))
    assert not differences, "\n".join(("", *differences, "pin the new figures: see tests/economy/measure.py"))


def read(text: str) -> dict[str, Row]:
    """Returns the rows of a table by their sheets."""
    return {row["sheet"]: row for row in csv.DictReader(text.splitlines())}


def different(pinned: dict[str, Row], found: dict[str, Row]) -> list[str]:
    """Returns a line for each figure that is not the pinned one, with the ratio."""
    lines = []
    for sheet in pinned.keys() | found.keys():
        before, now = pinned.get(sheet, {}), found.get(sheet, {})
        for name in before.keys() | now.keys():
            old, new = before.get(name, "-"), now.get(name, "-")
            ratio = int(new) / max(1, int(old)) if old.isdecimal() and new.isdecimal() else None
            if old != new and (ratio is None or abs(ratio - 1) > TOLERANCE.get(name, USUAL_TOLERANCE)):
                times = "" if ratio is None else f"{ratio:8.2f} times"
                lines.append(f"{sheet:24} {name:12} {old:>16} -> {new:16} {times}")
    return sorted(lines)


def takes_at_most(most: int, work: Callable[[], object]) -> bool:
    """Returns whether some work calls no more Python functions than that; it is given up once it has."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"
        if calls > most:
            raise TimeoutError

    sys.setprofile(count)
    try:
        work()
    except TimeoutError:
        return False
    finally:
        sys.setprofile(None)
    return True


MOST_CALLS_A_RULE = 3000
"""Twice what checking a rule takes in the worst of these sheets."""

GAME = "(role a) (init (f 1)) (legal a go) (<= (next (f 1)) (true (f 1))) (<= terminal (true (f 2))) (goal a 0)"


def negations(n: int) -> str:
    """A game with n rules that might depend on their own negation."""
    return GAME + "".join(f"(<= (p ?x k{i}) (f ?x) (not (p ?x ?x)))" for i in range(n)) + "(f 1)"


def impossibilities(n: int) -> str:
    """A game with n facts that can never be true, each of which others depend on."""
    return GAME + "".join(f"(<= (next (f g{i})) (true (f h{i})))" for i in range(n))


@pytest.mark.parametrize(("sheet", "n"), [(negations, 1100), (impossibilities, 400)])
def test_checking_is_linear(sheet: Callable[[int], str], n: int) -> None:
    """A rule costs no more work where each pair of rules is suspicious."""
    rules = read_rulesheet(sheet(n))

    def examine() -> None:
        with contextlib.suppress(InvalidRulesError):
            check(rules)

    assert takes_at_most(MOST_CALLS_A_RULE * n, examine)


def test_what_the_interpreter_keeps_is_bounded() -> None:
    """Answers that hold in every state are forgotten where a long match asks ever new questions."""
    digits = [f"d{i}" for i in range(90)]
    text = """
        (role a) (init (v d0 d0 d0)) (<= (legal a go) (role a)) (<= terminal (true (v d1 d1 d1))) (goal a 0)
        (<= (triple ?x ?y ?z) (digit ?x) (digit ?y) (digit ?z) (distinct ?x ?y))
        (<= (triple ?x ?x ?z) (digit ?x) (digit ?z) (distinct ?x ?z))
        (<= (next (v ?x ?y ?z)) (true (v ?x ?y ?z)) (triple ?x ?y ?z))
    """ + "".join(f"(digit {digit})" for digit in digits)
    machine = interpreter_of(text)
    most = 0
    for x in digits:
        state = machine.state(("v", x, y, z) for y in digits for z in digits)
        machine.next(state, ["go"])
        most = max(most, sum(len(table.complete) for table in machine._linked._static_tables))
    assert 0 < most < 600_000
