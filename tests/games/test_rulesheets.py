"""The project's own rulesheets: what they mean, shown by playing them beside sheets that are known to be right."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from games import rulesheets
from games.gdl.check import check
from games.gdl.compile import compile_rules
from games.machine import State, StateMachine, Term
from protocol.kif import read_rulesheet

MATCHES = 30


@cache
def compiled(source: str) -> StateMachine:
    """The machine of a rulesheet's text."""
    return compile_rules(check(read_rulesheet(source)))


def own(name: str) -> StateMachine:
    """The machine of an own rulesheet."""
    return compiled(rulesheets.text(name))


def random_joint_move(machine: StateMachine, state: State, rng: random.Random) -> list[Term]:
    """A uniformly random legal move per role."""
    return [rng.choice(machine.legal(state, role)) for role in range(len(machine.roles))]


def goals(machine: StateMachine, state: State) -> list[int | None]:
    """The goal of each role."""
    return [machine.goal(state, role) for role in range(len(machine.roles))]


def as_move(move: Term) -> Term:
    """A placement as the corpus sheet `reversi` spells it."""
    return move if isinstance(move, str) else ("move", *move[1:])


def unchanged(move: Term) -> Term:
    """The move itself, where both sheets spell it alike."""
    return move


@pytest.mark.parametrize(
    ("name", "other", "rename", "goals_before_the_end"),
    [
        ("reversi_holes", "othelloHoles", unchanged, True),
        ("reversi", "othello-comp2007", unchanged, True),
        ("reversi_tally", "reversi", as_move, False),
        ("blokbox", "blokbox_simple", unchanged, True),
    ],
)
def test_plays_in_step_with_the_corpus(
    corpus: Path, name: str, other: str, rename: Callable[[Term], Term], goals_before_the_end: bool
) -> None:
    """In random matches both sheets have the same legal moves, ends and goals at every step."""
    ours, theirs = own(name), compiled((corpus / f"{other}.kif").read_text())
    assert ours.roles == theirs.roles
    rng = random.Random(name)
    for _ in range(MATCHES):
        state, their_state = ours.initial(), theirs.initial()
        while True:
            over = ours.terminal(state)
            assert theirs.terminal(their_state) == over
            if over or goals_before_the_end:
                assert goals(ours, state) == goals(theirs, their_state)
            if over:
                break
            for role in range(len(ours.roles)):
                legal = {rename(move) for move in ours.legal(state, role)}
                assert legal == set(theirs.legal(their_state, role))
            joint_move = random_joint_move(ours, state, rng)
            state = ours.next(state, joint_move)
            their_state = theirs.next(their_state, [rename(move) for move in joint_move])


def test_kept_turn_is_a_passed_turn_left_out() -> None:
    """`reversi_keep_turn` is `reversi` without the plies in which the player in control has nothing to play."""
    keeping, passing = own("reversi_keep_turn"), own("reversi")
    rng = random.Random(1)
    kept = 0
    for _ in range(2 * MATCHES):
        state, their_state = keeping.initial(), passing.initial()
        while not keeping.terminal(state):
            while not passing.terminal(their_state) and all(
                passing.legal(their_state, role) == ["noop"] for role in (0, 1)
            ):
                their_state = passing.next(their_state, ["noop", "noop"])
                kept += 1
            for role in (0, 1):
                assert set(keeping.legal(state, role)) == set(passing.legal(their_state, role))
            joint_move = random_joint_move(keeping, state, rng)
            state, their_state = keeping.next(state, joint_move), passing.next(their_state, joint_move)
        assert passing.terminal(their_state)
        assert goals(keeping, state) == goals(passing, their_state)
    assert kept > 0


@pytest.mark.parametrize("name", rulesheets.names())
def test_sheet_is_clean(name: str) -> None:
    """Every own sheet passes the checks without a warning."""
    assert check(read_rulesheet(rulesheets.text(name))).diagnostics == ()


@pytest.mark.parametrize("name", rulesheets.names())
def test_random_matches_end(name: str) -> None:
    """Random matches of every own sheet reach an end at which each role has one goal value."""
    machine = own(name)
    rng = random.Random(2)
    for _ in range(10):
        state = machine.initial()
        while not machine.terminal(state):
            state = machine.next(state, random_joint_move(machine, state, rng))
        assert None not in goals(machine, state)


@pytest.mark.parametrize("name", rulesheets.names())
def test_base_and_input_cover_what_happens(name: str) -> None:
    """What is declared by `base` and `input` covers all facts and moves of random matches."""
    machine, declared = own(name), declarations(name)
    rng = random.Random(3)
    for _ in range(3):
        state = machine.initial()
        while True:
            assert machine.facts(state) <= declared["base"]
            if machine.terminal(state):
                break
            joint_move = random_joint_move(machine, state, rng)
            assert declared["input"].issuperset(zip(machine.roles, joint_move, strict=True))
            state = machine.next(state, joint_move)


def declarations(name: str) -> dict[str, set[Term]]:
    """The facts that `base` and the (role, move) pairs that `input` derive, as the facts of a sheet made of those."""
    source = rulesheets.text(name)
    source += "(<= (init (is_base ?f)) (base ?f)) (<= (init (is_input ?r ?m)) (input ?r ?m))"
    facts = compiled(source).facts(compiled(source).initial())
    found: dict[str, set[Term]] = {"base": set(), "input": set()}
    for fact in facts:
        if isinstance(fact, tuple) and fact[0] == "is_base":
            found["base"].add(fact[1])
        elif isinstance(fact, tuple) and fact[0] == "is_input":
            found["input"].add(fact[1:])
    return found


def test_winning_line_ends_tic_tac_toe() -> None:
    """Three in a line win at once: 100 for the one, 0 for the other."""
    machine = own("tic_tac_toe")
    state = machine.initial()
    for x, o in ((("1", "1"), None), (None, ("1", "2")), (("2", "1"), None), (None, ("2", "2")), (("3", "1"), None)):
        state = machine.next(state, [("mark", *x) if x else "noop", ("mark", *o) if o else "noop"])
    assert machine.terminal(state)
    assert goals(machine, state) == [100, 0]


def test_eight_puzzle_has_a_solution_within_its_moves() -> None:
    """The start of the eight puzzle is as far from its end as the sheet says, and so within the thirty moves."""
    machine = own("eight_puzzle")
    frontier, seen = {machine.initial()}, set()
    for depth in range(31):
        if any(machine.goal(state, 0) == 100 for state in frontier):
            assert depth == 18
            return
        frontier = {
            machine.next(state, [move])
            for state in frontier
            for move in machine.legal(state, 0)
            if not machine.terminal(state)
        } - seen
        seen |= frontier
    pytest.fail("no solution")


def test_missing_sheet_is_a_key_error() -> None:
    """A name that no sheet has is refused by name."""
    with pytest.raises(KeyError, match="no_such_game"):
        rulesheets.path("no_such_game")
