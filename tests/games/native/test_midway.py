"""Games that begin in the middle of a match, as after moves were taken back, are recognised all the same."""

from __future__ import annotations

import random
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from agent.record.positions import from_position
from agent.search.blokbox.guiding.tuning import tuning_for
from agent.search.blokbox.weights import general
from agent.search.blokbox.weights.networks import shipped_network
from agent.search.registry import engines_for
from games import rulesheets
from games.families import FAMILIES
from games.gdl.compile import compile_rules
from games.gdl.rules.check import check
from games.gdl.running.machine import CircuitMachine
from games.machine import Term
from games.native.blokbox.binding import BlokboxBinding
from games.native.blokbox.recognise import recognise as recognise_blokbox
from games.native.midway import Undoing, may_begin_midway
from games.native.reversi.binding import ReversiBinding
from games.native.reversi.recognise import recognise as recognise_reversi
from protocol.kif import read, read_rulesheet, write
from tests.agent.search.blokbox.sheet import own_binding
from tests.circuits import machine_of, own_machine
from tests.games.native.blokbox import test_recognise as blokbox
from tests.games.native.reversi import test_recognise as reversi
from tests.matches import random_match, rules_of

REVERSI, BLOKBOX = FAMILIES


def later(rulesheet: tuple[Term, ...], plies: int, seed: int = 1) -> tuple[Term, ...]:
    """The sheet of the position after some random plies, from which at least five more can be played."""
    machine = machine_of("\n".join(map(write, rulesheet)))
    chance = random.Random(seed)
    while True:
        states = [state for state, _, _ in random_match(machine, chance)]
        if plies + 4 < len(states):
            sheet = from_position(rulesheet, machine.facts(states[plies]))
            assert sheet is not None
            return sheet


@cache
def compiled(rulesheet: tuple[Term, ...]) -> CircuitMachine:
    """The machine of a sheet, as a match gets it."""
    return compile_rules(check(rulesheet), freeing=may_begin_midway)


def test_a_fact_without_arguments_costs_no_native_engine() -> None:
    """Also one that is a function."""
    text = rulesheets.text("reversi") + "(init (begun)) (<= (next (begun)) (true (begun)))"
    machine = compiled(read(text))
    assert machine.freed is not None
    assert next(engines_for(machine, 0)).name == "reversi"


@pytest.mark.parametrize("plies", [10, 50])
def test_match_taken_back_is_played_by_the_native_engine(plies: int) -> None:
    """So is a match of Reversi that begins where the person took moves back to."""
    machine = compiled(later(read_rulesheet(rulesheets.text("reversi")), plies))
    engine = next(engines_for(machine, 0))
    assert engine.name == "reversi"
    engine.begin(machine.initial())


@pytest.mark.parametrize("unlucky", [2, 3])
def test_samples_that_show_too_little_are_drawn_again(unlucky: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice: here each of the first samples undoes no move, so that no board is seen."""
    machine = compiled(later(read_rulesheet(rulesheets.text("reversi")), 50))
    some_moves = Undoing.some_moves

    def sample(undoing: Undoing, freed: CircuitMachine, seed: int) -> CircuitMachine:
        return freed if seed <= unlucky else some_moves(undoing, freed, seed)

    monkeypatch.setattr(Undoing, "some_moves", sample)
    assert (recognise_reversi(machine, positions=2000) is None) == (unlucky == 3)


@pytest.mark.parametrize(
    ("options", "plies"),
    [
        ({"columns": 6, "rows": 6, "blanks": True, "blocked": ((1, 1), (6, 4))}, 20),
        ({"columns": 6, "rows": 6, "minority": True, "plies": True, "skips": True}, 15),
        ({"columns": 5, "rows": 7, "first": "bob", "goals": (10, 45, 90)}, 24),
    ],
    ids=["blank facts", "count of plies", "odd number of cells"],
)
def test_reversi_midway(options: dict[str, object], plies: int) -> None:
    """Variants are bound to all their cells, also those that no longer change; play goes through the same states."""
    rules = read_rulesheet(reversi.sheet(**options))  # type: ignore[arg-type]
    first = recognise_reversi(machine_of("\n".join(map(write, rules))), positions=3000)
    machine = compiled(reversi.disguised(later(rules, plies), 4))
    binding = recognise_reversi(machine, positions=3000)
    assert first is not None
    assert binding is not None
    assert binding.variant.cells == first.variant.cells
    assert (binding.variant.noop, binding.variant.minority) == (first.variant.noop, first.variant.minority)
    assert binding.goals == first.goals
    assert_same_play(machine, binding)


def assert_same_play(machine: CircuitMachine, binding: ReversiBinding) -> None:
    """Facts and moves of a match are those of native positions."""
    position = binding.variant.initial()
    for state, joint, _ in random_match(machine, random.Random(2)):
        assert binding.position(machine.facts(state)) == position
        assert joint[position.turn] in binding.legal(position, position.turn)
        position = binding.variant.play(position, binding.cell(position.turn, joint[position.turn]))
    assert binding.variant.terminal(position)


@pytest.mark.parametrize("name", ["reversi_holes", "reversi_tally", "reversi_keep_turn"])
@pytest.mark.parametrize("plies", [15, 45])
@pytest.mark.e2e
def test_own_sheets_midway(name: str, plies: int) -> None:
    """The package's other sheets, scrambled."""
    assert REVERSI.recognise(compiled(reversi.disguised(later(read_rulesheet(rulesheets.text(name)), plies), 1)))


@pytest.mark.parametrize("name", ["reversi", "othelloHoles"])
@pytest.mark.e2e
def test_corpus_sheets_midway(corpus: Path, name: str) -> None:
    """Third-party sheets of Reversi."""
    assert REVERSI.recognise(compiled(later(read_rulesheet((corpus / f"{name}.kif").read_text()), 30)))


@pytest.mark.parametrize("flaw", [{"directions": 7}, {"heavy_corner": True}])
def test_near_misses_of_reversi_are_refused_midway(flaw: dict[str, object]) -> None:
    """What is another game from its beginning on is another one midway."""
    rules = read_rulesheet(reversi.sheet(6, 6, **flaw))  # type: ignore[arg-type]
    assert recognise_reversi(compiled(later(rules, 12)), positions=20_000) is None


BLOKBOX_SHEETS = {
    "small": blokbox.sheet(7, 7, blokbox.SMALL_PIECES, blokbox.STARTS),
    "clear cells": blokbox.sheet(8, 6, blokbox.SMALL_PIECES, blokbox.STARTS, clear=blokbox.CLEAR_CELLS),
}


@pytest.mark.parametrize("name", BLOKBOX_SHEETS)
def test_blokbox_midway(name: str) -> None:
    """A position after five plies is bound to the whole board, with either player's colour."""
    machine = compiled(later(read_rulesheet(BLOKBOX_SHEETS[name]), 5))
    assert_bound(machine, recognise_blokbox(machine, positions=2000))


def assert_bound(machine: CircuitMachine, binding: BlokboxBinding | None) -> None:
    """Every state of a match is a native position."""
    assert binding is not None
    assert (binding.position(machine.facts(machine.initial())) == binding.variant.start).all()
    for _, _, state in random_match(machine, random.Random(2)):
        binding.position(machine.facts(state))


@pytest.mark.e2e
def test_own_blokbox_midway_is_played_as_from_its_beginning() -> None:
    """The trained network plays on after moves were taken back, and the match is as far gone as it was."""
    machine = compiled(later(read_rulesheet(rulesheets.text("blokbox")), 11))
    binding = recognise_blokbox(machine)
    assert_bound(machine, binding)
    assert isinstance(binding, BlokboxBinding)
    assert shipped_network(binding.variant) is not None
    whole, begun = (tuning_for(each, general.load()).room for each in (own_binding().variant, binding.variant))
    assert begun == pytest.approx(whole, rel=0.05)


@pytest.mark.parametrize(
    "change",
    [{"sides": ""}, {"use": blokbox.PIECES_STAY}, {"goals": blokbox.MOST_CELLS_WIN}],
    ids=["side contact", "pieces stay", "most cells win"],
)
def test_near_misses_of_blokbox_are_refused_midway(change: dict[str, str]) -> None:
    """What is another game from its beginning on is another one midway."""
    rules = read_rulesheet(blokbox.sheet(7, 7, blokbox.SMALL_PIECES, blokbox.STARTS, **change))
    machine = compiled(later(rules, 3))
    assert recognise_blokbox(machine, positions=20_000) is None


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four", "breakthrough", "three_way_line", "eight_puzzle"])
def test_other_games_are_not_freed(name: str) -> None:
    """No game that cannot be one of the families pays for a second grounding."""
    assert not may_begin_midway(own_machine(name))


def test_facts_that_moves_used_up_may_hold_in_a_freed_game() -> None:
    """Their arguments come from moves, though the first position has none of them, and no relation declares them."""
    text = """
    (role a) (role b) (place p1) (place p2) (init (turn a)) (init (blank p1)) (init (mark p2 a))
    (<= (legal ?r (take ?p)) (role ?r) (place ?p) (true (turn ?r)) (true (blank ?p)))
    (<= (legal ?r wait) (role ?r) (not (true (turn ?r))))
    (<= (next (mark ?p ?r)) (does ?r (take ?p))) (<= (next (mark ?p ?r)) (true (mark ?p ?r)))
    (<= (taken ?p) (does ?r (take ?p))) (<= (next (blank ?p)) (true (blank ?p)) (not (taken ?p)))
    (<= (next (turn b)) (true (turn a))) (<= (next (turn a)) (true (turn b)))
    (<= terminal (not (true (blank p1)))) (goal a 50) (goal b 50)
    """
    machine = compile_rules(rules_of(text), freeing=lambda machine: True)
    assert machine.freed is not None
    freed = machine.freed.game
    assert ("blank", "p2") in freed.fluents
    assert {("mark", place, role) for place in ("p1", "p2") for role in "ab"} <= set(freed.fluents)
    assert ("take", "p2") in chain(*freed.moves)
    assert ("take", "p2") not in chain(*machine.game.moves)
    assert machine.freed.facts(machine.freed.initial()) == machine.facts(machine.initial())
