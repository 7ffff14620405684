"""The project's own rulesheets, played in step with sheets known to be right."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest

from games import rulesheets
from games.machine import Term
from tests.circuits import machine_of, own_machine
from tests.matches import goals, random_match, rules_of


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
    ours, theirs = own_machine(name), machine_of((corpus / f"{other}.kif").read_text())
    assert ours.roles == theirs.roles
    rng = random.Random(name)
    for _ in range(2):
        their_state = theirs.initial()
        for state, joint_move, after in random_match(ours, rng):
            # The corpus sheets' goals take long to evaluate, so only some states are asked for theirs.
            if goals_before_the_end and rng.random() < 0.1:
                assert goals(ours, state) == goals(theirs, their_state)
            for role in range(len(ours.roles)):
                legal = {rename(move) for move in ours.legal(state, role)}
                assert legal == set(theirs.legal(their_state, role))
            their_state = theirs.next(their_state, [rename(move) for move in joint_move])
            assert theirs.terminal(their_state) == ours.terminal(after)
        assert goals(ours, after) == goals(theirs, their_state)


def test_kept_turn_is_a_passed_turn_left_out() -> None:
    """`reversi_keep_turn` is `reversi` without the plies in which the player in control has nothing to play."""
    keeping, passing = own_machine("reversi_keep_turn"), own_machine("reversi")
    rng = random.Random(1)
    kept = 0
    for _ in range(12):
        their_state = passing.initial()
        plies = list(random_match(keeping, rng))
        for state, joint_move, _ in plies:
            while not passing.terminal(their_state) and all(
                passing.legal(their_state, role) == ["noop"] for role in (0, 1)
            ):
                their_state = passing.next(their_state, ["noop", "noop"])
                kept += 1
            for role in (0, 1):
                assert set(keeping.legal(state, role)) == set(passing.legal(their_state, role))
            their_state = passing.next(their_state, joint_move)
        assert passing.terminal(their_state)
        assert goals(keeping, plies[-1][-1]) == goals(passing, their_state)
    assert kept > 0


@pytest.mark.parametrize("name", rulesheets.names())
def test_sheet_is_clean(name: str) -> None:
    """Every own sheet passes the checks; the only warning is that `sees` makes a game of imperfect information."""
    assert [found for found in rules_of(rulesheets.text(name)).diagnostics if "(GDL-II)" not in found.message] == []


@pytest.mark.parametrize("name", rulesheets.names())
def test_random_matches_end(name: str) -> None:
    """Random matches of every own sheet reach an end at which each role has one goal value."""
    machine = own_machine(name)
    rng = random.Random(2)
    for _ in range(10):
        *_, (_, _, end) = random_match(machine, rng)
        assert None not in goals(machine, end)


@pytest.mark.parametrize("name", rulesheets.names())
def test_base_and_input_cover_what_happens(name: str) -> None:
    """What is declared by `base` and `input` covers all facts and moves of random matches."""
    machine, declared = own_machine(name), declarations(name)
    rng = random.Random(3)
    for _ in range(3):
        assert machine.facts(machine.initial()) <= declared["base"]
        for _, joint_move, after in random_match(machine, rng):
            assert declared["input"].issuperset(zip(machine.roles, joint_move, strict=True))
            assert machine.facts(after) <= declared["base"]


def declarations(name: str) -> dict[str, set[Term]]:
    """The facts derived by `base` and the (role, move) pairs derived by `input`, as facts of a sheet made of these."""
    source = rulesheets.text(name)
    source += "(<= (init (is_base ?f)) (base ?f)) (<= (init (is_input ?r ?m)) (input ?r ?m))"
    facts = machine_of(source).facts(machine_of(source).initial())
    found: dict[str, set[Term]] = {"base": set(), "input": set()}
    for fact in facts:
        if isinstance(fact, tuple) and fact[0] == "is_base":
            found["base"].add(fact[1])
        elif isinstance(fact, tuple) and fact[0] == "is_input":
            found["input"].add(fact[1:])
    return found


def test_winning_line_ends_tic_tac_toe() -> None:
    """Three in a line win at once: 100 for the one, 0 for the other."""
    machine = own_machine("tic_tac_toe")
    state = machine.initial()
    for x, o in ((("1", "1"), None), (None, ("1", "2")), (("2", "1"), None), (None, ("2", "2")), (("3", "1"), None)):
        state = machine.next(state, [("mark", *x) if x else "noop", ("mark", *o) if o else "noop"])
    assert machine.terminal(state)
    assert goals(machine, state) == [100, 0]


def test_eight_puzzle_takes_eighteen_moves() -> None:
    """The shortest solution of the tiles as they lie at the start has 18 moves, and the sheet accepts it."""
    machine = own_machine("eight_puzzle")
    state = machine.initial()
    cells = {fact[1:3]: fact[3] for fact in machine.facts(state) if isinstance(fact, tuple) and fact[0] == "cell"}
    order = [(str(x), str(y)) for y in (3, 2, 1) for x in (1, 2, 3)]
    solution = shortest_solution(tuple(str(cells[cell]) for cell in order))
    assert len(solution) == 18
    for gap in solution:
        assert not machine.terminal(state)
        state = machine.next(state, [("slide", *order[gap])])
    assert machine.terminal(state)
    assert goals(machine, state) == [100]


def shortest_solution(start: tuple[str, ...]) -> list[int]:
    """The tiles (by index, row by row from the top) to slide, one after the other, found breadth first."""
    end = (*map(str, range(1, 9)), "gap")
    came_from: dict[tuple[str, ...], tuple[tuple[str, ...], int] | None] = {start: None}
    queue = deque([start])
    while end not in came_from:
        tiles = queue.popleft()
        gap = tiles.index("gap")
        for other in (gap - 3, gap + 3, gap - 1 if gap % 3 else -1, gap + 1 if gap % 3 < 2 else -1):
            if 0 <= other < 9:
                swapped = list(tiles)
                swapped[gap], swapped[other] = swapped[other], swapped[gap]
                if (after := tuple(swapped)) not in came_from:
                    came_from[after] = (tiles, other)
                    queue.append(after)
    path = []
    while (step := came_from[end]) is not None:
        end, tile = step
        path.append(tile)
    return path[::-1]


def test_missing_sheet_is_a_key_error() -> None:
    """A name that no sheet has is refused by name."""
    with pytest.raises(KeyError, match="no_such_game"):
        rulesheets.path("no_such_game")
