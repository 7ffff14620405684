"""The project's own rulesheets against facts that do not come from them."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from games import rulesheets
from games.machine import State, Term
from games.perception import Perception
from tests.circuits import own_machine
from tests.games.plain_games import Amazons, Clobber, Draughts, Kalaha, PlainGame, SinkingIsland, SmallChess
from tests.matches import goals, own_interpreter, random_match, rules_of


def on_turn(name: str, state: State) -> tuple[int, set[Term]]:
    """The role that has more to do than wait, and its moves."""
    machine = own_machine(name)
    legal = [set(machine.legal(state, role)) for role in range(len(machine.roles))]
    busy = [role for role, moves in enumerate(legal) if moves not in ({"noop"}, {"wait"})]
    assert len(busy) == 1
    return busy[0], legal[busy[0]]


def play(name: str, state: State, move: Term) -> State:
    """The state after a move of the role on turn, while the others wait."""
    machine = own_machine(name)
    role, _ = on_turn(name, state)
    waiting = [machine.legal(state, other)[0] for other in range(len(machine.roles))]
    return machine.next(state, [*waiting[:role], move, *waiting[role + 1 :]])


def line(name: str, moves: Iterable[Term]) -> State:
    """The state after moves from the start."""
    state = own_machine(name).initial()
    for move in moves:
        assert move in on_turn(name, state)[1]
        state = play(name, state, move)
    return state


@pytest.mark.parametrize(
    ("name", "game", "matches"),
    [
        ("draughts", Draughts, 20),
        ("amazons", Amazons, 20),
        ("clobber", Clobber, 20),
        ("kalaha", Kalaha, 150),
        ("small_chess", SmallChess, 6),
        ("sinking_island", SinkingIsland, 20),
    ],
)
def test_plays_as_its_description(name: str, game: Callable[[], PlainGame], matches: int) -> None:
    """In random matches the sheet has the moves, turns, ends and goals of the same game in plain Python."""
    machine, plain, rng = own_machine(name), game(), random.Random(name)
    for _ in range(matches):
        state, position = machine.initial(), plain.start
        while (result := plain.result(position)) is None:
            assert not machine.terminal(state)
            role, legal = on_turn(name, state)
            moves = [move[0] if len(move) == 1 else move for move in plain.moves(position)]
            assert (role, legal) == (plain.turn(position), set(moves))
            move = rng.choice(moves)
            state, position = play(name, state, move), plain.after(position, (move,) if move == "stay" else move)
        assert machine.terminal(state)
        assert goals(machine, state) == result


def test_draughts_has_the_known_numbers_of_lines() -> None:
    """From the start there are 7, 49, 302, 1469 and 7361 lines of whole moves, as published; a row of jumps is one."""

    def lines(state: State, depth: int, last: int | None) -> int:
        role, legal = on_turn("draughts", state)
        if role != last:
            if depth == 0:
                return 1
            depth -= 1
        return sum(lines(play("draughts", state, move), depth, role) for move in legal)

    start = own_machine("draughts").initial()
    assert [lines(start, depth, None) for depth in (1, 2, 3, 4, 5)] == [7, 49, 302, 1469, 7361]


def test_nim_is_won_where_the_sum_without_carry_is_not_zero() -> None:
    """Of all positions just those are lost for the player on turn in which the heaps' exclusive or is 0."""
    machine = own_machine("nim")

    @cache
    def wins(heaps: tuple[int, ...]) -> bool:
        state = states[heaps]
        if machine.terminal(state):
            role = 0 if ("control", "left") in machine.facts(state) else 1
            assert goals(machine, state)[role] == 0
            return False
        role, legal = on_turn("nim", state)
        won = False
        for move in legal:
            assert isinstance(move, tuple)
            after = play("nim", state, move)
            facts = {fact[1]: int(str(fact[2])) for fact in machine.facts(after) if fact[0] == "heap"}
            left = tuple(facts[str(heap)] for heap in (1, 2, 3, 4))
            states.setdefault(left, after)
            won |= not wins(left)
        return won

    states = {(3, 4, 5, 7): machine.initial()}
    assert wins((3, 4, 5, 7))
    assert len(states) == 4 * 5 * 6 * 8
    assert all(wins(heaps) == bool(heaps[0] ^ heaps[1] ^ heaps[2] ^ heaps[3]) for heaps in states)


def test_hex_has_one_winner_on_every_full_path() -> None:
    """Random matches end with a chain of the winner's from edge to edge, and never with a draw."""
    machine, rng = own_machine("hex"), random.Random(4)
    winners = set()
    for _ in range(40):
        *_, (_, _, end) = random_match(machine, rng)
        stones = {(int(str(f[1])), int(str(f[2]))): f[3] for f in machine.facts(end) if f[0] == "cell"}
        won = [joins(stones, "red", 0), joins(stones, "blue", 1)]
        assert goals(machine, end) == [100 * won[0], 100 * won[1]]
        assert sum(won) == 1
        winners.add(won[0])
    assert winners == {True, False}


def joins(stones: dict[tuple[int, int], Term], colour: str, axis: int) -> bool:
    """Whether a colour's stones lead from one edge of an axis to the other."""
    own = {cell for cell, role in stones.items() if role == colour}
    pending = [cell for cell in own if cell[axis] == 1]
    seen = set(pending)
    while pending:
        x, y = pending.pop()
        around = {(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1), (x + 1, y - 1), (x - 1, y + 1)}
        pending += (fresh := (around & own) - seen)
        seen |= fresh
    return any(cell[axis] == 7 for cell in seen)


def test_swap_takes_the_first_stone_of_hex_once() -> None:
    """Blue may swap as the answer to the first stone, which is blue's then, mirrored; nobody may later."""
    swapped = line("hex", [("place", "2", "5"), "swap"])
    assert ("cell", "5", "2", "blue") in own_machine("hex").facts(swapped)
    assert len(on_turn("hex", swapped)[1]) == 48
    assert "swap" not in on_turn("hex", line("hex", [("place", "2", "5"), ("place", "1", "1"), ("place", "1", "2")]))[1]


@pytest.mark.parametrize("stones", [5, 6])
@pytest.mark.parametrize("step", [(1, 0), (0, 1), (1, 1), (1, -1)])
def test_five_or_more_in_a_row_win(step: tuple[int, int], stones: int) -> None:
    """A line in any of four directions wins with its fifth stone; six that come at once win as well."""
    cells = [(2 + i * step[0], (2 if step[1] >= 0 else 8) + i * step[1]) for i in range(stones)]
    # The stone in the middle comes last, so that there is no line of five before.
    blacks = [*cells[:2], *cells[3:], cells[2]]
    whites = [cell for cell in product((1, 9), (1, 3, 5, 7, 9)) if cell not in cells]
    moves = [("place", *map(str, cell)) for pair in zip(blacks, whites, strict=False) for cell in pair][:-1]
    machine = own_machine("five_in_a_row")
    assert not machine.terminal(line("five_in_a_row", moves[:-1]))
    assert machine.terminal(end := line("five_in_a_row", moves))
    assert goals(machine, end) == [100, 0]


def test_bluff_pays_what_the_known_best_play_earns() -> None:
    """A hand has 30 courses, and between players who mix as Kuhn (1950) found, the opener loses 1/18 of a chip."""
    machine = own_interpreter("bluff")
    third = Fraction(1, 3)
    # How likely the one of two moves that risks a chip is, by role, phase and card, with the opener's free choice at 0.
    risky = {
        "open": {"jack": Fraction(0), "queen": Fraction(0), "king": Fraction(0)},
        "checked": {"jack": third, "queen": Fraction(0), "king": Fraction(1)},
        "bet": {"jack": Fraction(0), "queen": third, "king": Fraction(1)},
    }
    courses = 0

    def value(state: State) -> Fraction:
        nonlocal courses
        facts = {fact[0] if fact[0] == "phase" else fact[:-1]: fact[-1] for fact in machine.facts(state)}
        if facts[("hand",)] == "2":
            courses += 1
            return Fraction(int(facts["chips", "left"]) - 12)
        if facts["phase"] == "deal":
            deals = machine.legal(state, 2)
            return sum(value(machine.next(state, ["wait", "wait", deal])) for deal in deals) / len(deals)
        role = 0 if facts[("turn",)] == "left" else 1
        chance = risky[facts["phase"]][facts["holds", ("left", "right")[role]]]
        total = Fraction(0)
        for word in machine.legal(state, role):
            says = ["wait", "wait", "wait"]
            says[role] = word
            total += (chance if word in ("bet", "call") else 1 - chance) * value(machine.next(state, says))
        return total

    assert value(machine.initial()) == Fraction(-1, 18)
    assert courses == 30


def test_bluff_shows_a_card_to_its_holder_until_the_showdown() -> None:
    """The other's card is heard of after a call, and never after a fold."""
    machine, perception = own_interpreter("bluff"), Perception(rules_of(rulesheets.text("bluff")))

    def seen(state: State, says: list[Term], role: int) -> set[Term]:
        return set(perception.percepts(machine.facts(state), says, role))

    start, deal = machine.initial(), ["wait", "wait", ("deal", "king", "jack")]
    assert seen(start, deal, 0) == {("holds", "left", "king")}
    assert seen(start, deal, 1) == {("holds", "right", "jack")}
    bet = machine.next(machine.next(start, deal), ["bet", "wait", "wait"])
    assert seen(bet, ["wait", "fold", "wait"], 1) == {("says", "right", "fold")}
    assert seen(bet, ["wait", "call", "wait"], 1) == {("says", "right", "call"), ("holds", "left", "king")}


def test_hanoi_takes_fifteen_moves() -> None:
    """Four discs are carried over in 2^4 - 1 moves, and in no fewer."""
    machine = own_machine("hanoi")
    pending = deque([(machine.initial(), 0)])
    seen = set()
    while not machine.terminal((at := pending.popleft())[0]):
        for move in machine.legal(at[0], 0):
            after = machine.next(at[0], [move])
            discs = frozenset(fact for fact in machine.facts(after) if fact[0] == "on")
            if discs not in seen:
                seen.add(discs)
                pending.append((after, at[1] + 1))
    assert at[1] == 15
    assert goals(machine, at[0]) == [100]


def test_peg_solitaire_can_be_solved() -> None:
    """A known solution leaves one peg, in the middle, and earns everything; giving up early earns less."""
    solution = (
        "2444 3234 1333 1513 3432 3133 3515 3735 4323 1333 4143 4323 4525 1535 4745 4525 "
        "6343 5153 5333 2343 4345 5535 2545 5755 5456 7555 4565 7375 7555 5654 6444"
    )
    moves = [("jump", *step) for step in solution.split()]
    assert len(moves) == 31
    machine, end = own_machine("peg_solitaire"), line("peg_solitaire", moves)
    assert machine.terminal(end)
    assert goals(machine, end) == [100]
    assert ("cell", "4", "4", "peg") in machine.facts(end)
