"""Which rules of a text have fired."""

from __future__ import annotations

import random

from games import rulesheets
from games.gdl.interpreter.firings import Firings
from games.gdl.rules.check import check
from protocol.kif import read_rulesheet
from tests.circuits import own_machine
from tests.matches import random_match

LIGHTS = """
(role r) (init (light off))
(<= (legal r ?m) (move ?m))
(move press) (move wait)
(<= (next (light on)) (does r press))
(<= (next (light on)) (true (light on)))
(<= (next (light broken)) (does r press) (true (light on)) (distinct on on))
(<= (next (bulb warm)) (does r press) (true (light on)))
(<= dark (or (true (light off)) (true (light broken))))
(<= (next (seen dark)) dark)
(<= terminal (true (light on)))
(<= (goal r 100) terminal)
(<= (goal r 0) (not terminal))
"""


def unfired(text: str, firings: Firings) -> set[str]:
    """Returns the heads of rules that have not fired, as they are written."""
    sheet = read_rulesheet(text)
    return {str(sheet[index][1]) for index in firings.unfired}


def test_a_rule_fires_when_its_body_holds() -> None:
    """Rules about moves fire by the joint move; those whose bodies never hold do not, nor those that never can."""
    sheet = read_rulesheet(LIGHTS)
    firings = Firings(sheet, check(sheet))
    assert len(firings.unfired) == 10
    firings.see(frozenset({("light", "off")}), [("r", "wait")])
    assert unfired(LIGHTS, firings) == {
        "('next', ('light', 'on'))",
        "('next', ('light', 'broken'))",
        "('next', ('bulb', 'warm'))",
        "terminal",
        "('goal', 'r', '100')",
    }
    firings.see(frozenset({("light", "off")}), [("r", "press")])
    firings.see(frozenset({("light", "on")}))
    firings.see(frozenset({("light", "on")}), [("r", "press")])
    assert unfired(LIGHTS, firings) == {"('next', ('light', 'broken'))"}


def test_no_move_is_left_over_at_the_end_of_a_match() -> None:
    """What depends on moves does not fire in a last position."""
    sheet = read_rulesheet(LIGHTS)
    firings = Firings(sheet, check(sheet))
    firings.see(frozenset({("light", "off")}), [("r", "press")])
    firings.see(frozenset({("light", "on")}))
    assert "('next', ('bulb', 'warm'))" in unfired(LIGHTS, firings)


def test_facts_of_a_circuit_are_enough() -> None:
    """In random matches of a whole game every rule fires, as the facts of the circuit are those of the rules."""
    machine, generator = own_machine("tic_tac_toe"), random.Random(1)
    sheet = read_rulesheet(rulesheets.text("tic_tac_toe"))
    firings = Firings(sheet, check(sheet))
    for _ in range(20):
        plies = list(random_match(machine, generator))
        for state, joint, _ in plies:
            firings.see(machine.facts(state), list(zip(machine.roles, joint, strict=True)))
        firings.see(machine.facts(plies[-1][-1]))
    assert not firings.unfired
    assert not firings.unknown
