"""Verification of native rules against the circuit over whole random matches: moves, successors, ends and goals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from games.bits.board8x8 import flips
from games.bits.compiling import INNER, KERNEL
from games.gdl.running.batches import MatchPositions, packed
from games.gdl.running.machine import CircuitMachine
from games.machine import Term
from games.native.recognition import Follow, NotRecognised
from games.native.reversi.binding import ReversiBinding
from games.native.reversi.rules import legal_moves

Words = npt.NDArray[np.uint64]

_FULL_BOARDS = 2000
"""Full boards whose goals are compared."""


class _Layout(NamedTuple):
    """A binding in the circuit's indices."""

    discs: npt.NDArray[np.int32]
    """int32[2, 64]: fluent of each colour's disc on each cell, or -1. Discs that never change are bits of the word that
    `_with_constants` adds."""
    expected: npt.NDArray[np.int32]
    """int32[fluents, 2]: kind of each fluent (`_DISC_0`..), and its cell or colour (for constants, its value)."""
    move_cells: npt.NDArray[np.int32]
    """int32[moves of both roles]: cell that a move takes, or one of `_PASS`.."""
    split: int
    """Start of the second role's moves."""
    playable: np.uint64
    noop: bool


_DISC_0, _DISC_1, _BLANK, _FILLED, _CONTROL, _CONSTANT, _IGNORED = range(7)
_PASS, _UNKNOWN, _WAIT, _IDLE = -1, -2, -3, -4
"""Kinds of moves that take no cell: on the own turn, never legal, on the other's turn, on both turns."""


def follow(machine: CircuitMachine, binding: ReversiBinding) -> Follow:
    """Compares facts, legal moves, end and goals in matches.

    Raises `NotRecognised` where the goals of nearly even full boards differ, which expose any other way of counting.
    """
    layout = _layout(machine, binding)
    if not _same_goals_when_full(machine, binding, layout):
        raise NotRecognised("it looks like Reversi, but discs are counted in another way")

    def compare(sample: MatchPositions, legal: npt.NDArray[np.bool_], goals: npt.NDArray[np.float64]) -> bool:
        states = _with_constants(sample.states)
        rules = _same_rules(states, legal, sample.terminal, sample.joint, sample.match, layout)
        return bool(rules) and _goals_match(binding, layout, states[sample.terminal], goals)

    return compare


def _layout(machine: CircuitMachine, binding: ReversiBinding) -> _Layout:
    """The binding's layout. Raises `NotRecognised` where no fluent says whose turn it is."""
    game = machine.game
    discs = np.full((2, 64), -1, np.int32)
    expected = np.full((len(game.fluents), 2), _CONSTANT, np.int32)
    expected[:, 1] = [fact in binding.always for fact in game.fluents]
    expected[[index for index, fact in enumerate(game.fluents) if fact in binding.ignored], 0] = _IGNORED
    meanings: list[tuple[int, dict[Term, int]]] = [
        (_DISC_0, dict(binding.discs[0])),
        (_DISC_1, dict(binding.discs[1])),
        (_BLANK, dict(binding.blanks)),
        (_FILLED, dict(binding.filled)),
        (_CONTROL, dict(binding.control)),
    ]
    index = {fact: number for number, fact in enumerate(game.fluents)}
    always = frozenset(game.always)
    for meaning, facts in meanings:
        for fact, cell in facts.items():
            if fact in index:
                expected[index[fact]] = meaning, cell
            if meaning in (_DISC_0, _DISC_1):
                discs[meaning, cell] = index.get(fact, 64 * machine.words + (fact in always))
    if binding.control.keys().isdisjoint(index):
        raise NotRecognised("no fact that changes says whose turn it is")
    cells = [_meaning(binding, role, move) for role in (0, 1) for move in game.moves[role]]
    return _Layout(
        discs,
        expected,
        np.array(cells, np.int32),
        len(game.moves[0]),
        np.uint64(binding.variant.playable),
        binding.variant.noop,
    )


def _meaning(binding: ReversiBinding, role: int, move: Term) -> int:
    """The cell that a move takes, or its kind."""
    passes, waits = move == binding.passes[role], move == binding.waits[role]
    if passes or waits:
        return _IDLE if passes and waits else _PASS if passes else _WAIT
    return binding.moves[role].get(move, _UNKNOWN)


@njit(inline="always")
def _bit(states, row, fluent):
    """The value (0 or 1, uint64) of a fluent in a row of `states` (uint64[n, words])."""
    return (states[row, fluent >> 6] >> np.uint64(fluent & 63)) & np.uint64(1)


@njit(**INNER)
def _decode(states, row, layout):
    """(discs of colour 0, of colour 1, turn) of a packed state; turn -1 where its facts fit no position.

    `states` is uint64[n, words], `layout` a `_Layout`. Discs are uint64, turn is int64.
    """
    first, second = np.uint64(0), np.uint64(0)
    for cell in range(64):
        if layout.discs[0, cell] >= 0:
            first |= _bit(states, row, layout.discs[0, cell]) << np.uint64(cell)
            second |= _bit(states, row, layout.discs[1, cell]) << np.uint64(cell)
    turn = -1
    for fluent in range(layout.expected.shape[0]):
        meaning, cell = layout.expected[fluent, 0], layout.expected[fluent, 1]
        value = _bit(states, row, fluent)
        if meaning == _CONTROL:
            says = cell if value else 1 - cell
            if turn >= 0 and says != turn:
                return first, second, -1
            turn = says
        elif meaning == _CONSTANT:
            if value != np.uint64(cell):
                return first, second, -1
        elif meaning in (_BLANK, _FILLED):
            taken = ((first | second) >> np.uint64(cell)) & np.uint64(1)
            if (value == taken) != (meaning == _FILLED):
                return first, second, -1
    return (first, second, turn) if first & second == 0 else (first, second, -1)


@njit(**KERNEL)
def _same_rules(states, legal, terminal, joint, match, layout):
    """Whether facts, legal moves, ends and successors of all positions obey the native rules.

    `states`, `joint` and `match` are those of `MatchPositions`; `legal` (bool[n, moves of both roles]) and `terminal`
    (bool[n]) are the circuit's answers; `layout` is a `_Layout`.
    """
    for row in range(states.shape[0]):
        first, second, turn = _decode(states, row, layout)
        if turn < 0:
            return False
        own, other = (second, first) if turn else (first, second)
        empty = layout.playable & ~(own | other)
        moves, replies = legal_moves(own, other, empty), legal_moves(other, own, empty)
        if terminal[row] != (moves == 0 and replies == 0):
            return False
        if terminal[row]:
            continue
        if moves == 0 and not layout.noop:
            return False
        for role in range(2):
            begin = layout.split if role else 0
            end = legal.shape[1] if role else layout.split
            mine = moves if role == turn else np.uint64(0)
            for move in range(begin, end):
                cell = layout.move_cells[move]
                if cell == _IDLE:
                    expected = mine == 0
                elif cell == _PASS:
                    expected = role == turn and mine == 0
                elif cell == _WAIT:
                    expected = role != turn
                elif cell == _UNKNOWN:
                    expected = False
                else:
                    expected = (mine >> np.uint64(cell)) & np.uint64(1) != 0
                if legal[row, move] != expected:
                    return False
        if joint[row, 0] < 0 or row + 1 == states.shape[0] or match[row + 1] != match[row]:
            continue
        cell = layout.move_cells[joint[row, turn] + (layout.split if turn else 0)]
        after = 1 - turn
        next_first, next_second, next_turn = _decode(states, row + 1, layout)
        if cell >= 0:
            turned = flips(cell, own, other)
            own |= turned | np.uint64(1) << np.uint64(cell)
            other &= ~turned
            if not layout.noop and legal_moves(other, own, layout.playable & ~(own | other)) == 0:
                after = turn
                # Where neither side can move, the game is over and the rulesheet may give control to anyone.
                if legal_moves(own, other, layout.playable & ~(own | other)) == 0:
                    after = next_turn
        own, other = (other, own) if turn else (own, other)
        if next_first != own or next_second != other or next_turn != after:
            return False
    return True


def _with_constants(states: Words) -> Words:
    """Packed states with one more word, in which bit 0 is false and bit 1 true."""
    return np.concatenate([states, np.full((len(states), 1), 2, np.uint64)], axis=1)


def _margins(states: Words, layout: _Layout) -> npt.NDArray[np.int64]:
    """int64[n]: lead of colour 0 in discs, in `states` (uint64[n, words + 1], see `_with_constants`)."""
    first, second = (
        ((states[:, discs >> 6] >> (discs & 63).astype(np.uint64)) & np.uint64(1)).sum(axis=1, dtype=np.int64)
        for discs in layout.discs[:, layout.discs[0] >= 0]
    )
    return np.asarray(first - second)


def _goals_match(binding: ReversiBinding, layout: _Layout, states: Words, goals: npt.NDArray[np.float64]) -> bool:
    """Whether the goals (float64[n, 2]) of finished positions (uint64[n, words + 1]) are the binding's."""
    results = np.sign(_margins(states, layout)) * binding.variant.sign
    table = np.array(binding.goals)
    return bool((goals == np.stack([table[0][1 + results], table[1][1 - results]], axis=1)).all())


def _same_goals_when_full(machine: CircuitMachine, binding: ReversiBinding, layout: _Layout) -> bool:
    """Whether the goals of random, nearly even full boards are the binding's; discs that never change stay."""
    generator = np.random.default_rng(2)
    never, always = 64 * machine.words, 64 * machine.words + 1
    bits = np.zeros((_FULL_BOARDS, len(machine.game.fluents)), np.bool_)
    lead = 0
    for own, other, sign in ((layout.discs[0], layout.discs[1], 1), (layout.discs[1], layout.discs[0], -1)):
        only = own[(own >= 0) & (own < never) & (other == never)]
        bits[:, only] = True
        lead += sign * (len(only) + int((own == always).sum()))
    used = np.flatnonzero(((layout.discs >= 0) & (layout.discs < never)).all(axis=0))
    for row in range(_FULL_BOARDS):
        order = generator.permutation(used)
        half = min(max(0, (len(used) - lead) // 2 + generator.integers(-2, 3)), len(used))
        bits[row, layout.discs[0, order[:half]]] = True
        bits[row, layout.discs[1, order[half:]]] = True
    for fluent, (meaning, cell) in enumerate(layout.expected):
        bits[:, fluent] |= (
            meaning == _FILLED or (meaning == _CONTROL and cell == 0) or (meaning == _CONSTANT and cell == 1)
        )
    states = packed(bits)
    return _goals_match(binding, layout, _with_constants(states), machine.goals_of(states))


def warm_kernels() -> None:
    """Compiles the kernels or loads them from the cache."""
    layout = _Layout(
        np.full((2, 64), -1, np.int32), np.zeros((0, 2), np.int32), np.zeros(0, np.int32), 0, np.uint64(0), True
    )
    states, terminal = np.zeros((0, 1), np.uint64), np.zeros(0, np.bool_)
    joint, match = np.zeros((0, 2), np.int32), np.zeros(0, np.int32)
    _same_rules(states, np.zeros((0, 0), np.bool_), terminal, joint, match, layout)
