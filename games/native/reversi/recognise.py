"""Recognising Reversi by how a game behaves, never by its names.

Random matches of the compiled game tell which facts are discs of which role, control, or blanks: a disc fact rises on
its role's moves and falls on the other's; the two disc facts of a cell are never true together. Which cells lie in a
row is asked of the circuit: with one disc of each role on an otherwise empty board, the only legal move is the cell
that brackets. What results is only a proposal, to be verified over whole matches (`games.native.reversi.verify`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from games.gdl.running.machine import CircuitMachine
from games.machine import Term
from games.native.reversi.binding import ReversiBinding
from games.native.reversi.geometry import Triple, embed
from games.native.reversi.rules import ReversiVariant
from games.native.reversi.verify import agrees

Bits = npt.NDArray[np.bool_]

SAMPLE_MATCHES = 128
"""Random matches that facts are told apart by: about 7,000 positions on a full board."""
SAMPLE_POSITIONS = 6000
"""Where these matches are short, more are played until this many positions are seen. Set by hand; not tuned."""
MAX_PLIES = 200
"""More than any match of the family has."""
ODD_MATCHES = 2000
"""Random matches that the value of a draw is looked for in where the number of cells is odd. Not tuned."""
MIN_CELLS = 8
"""Fewer moves per role than this are not looked at. Set by hand; not tuned."""
VERIFIED_POSITIONS = 20_000
"""Positions of random matches that a binding must agree on, and must go on agreeing on full boards. Not tuned."""


def recognise(machine: CircuitMachine, *, positions: int = VERIFIED_POSITIONS) -> ReversiBinding | None:
    """The binding of a game of the family, verified on `positions` positions; None for every other game."""
    binding = propose(machine)
    return binding if binding is not None and agrees(machine, binding, positions) else None


def propose(machine: CircuitMachine) -> ReversiBinding | None:
    """A binding that fits the game's behaviour in a few random matches and its geometry, or None."""
    moves = [len(moves) for moves in machine.game.moves]
    if len(moves) != 2 or min(moves) < MIN_CELLS or max(moves) > 65 or len(machine.game.fluents) > 64 * 4 + 2:
        return None
    observed = _observe(machine)
    if observed is None:
        return None
    cells = _cells(observed)
    if cells is None:
        return None
    return _bind(machine, observed, cells)


@dataclass(frozen=True)
class _Observed:
    """Random matches, and what follows at once from them."""

    bits: Bits
    """bool[positions, fluents]"""
    control: dict[int, int]
    """Fluents that say whose turn it is."""
    waits: tuple[int, int]
    """Per role, the index of its move while the other one moves."""
    passes: tuple[int, int]
    """Per role, the index of its move when it has no other; mostly the same."""
    stays: bool
    """Whether control was ever seen to stay with a role that moved."""
    before: Bits
    after: Bits
    """bool[transitions, fluents]"""
    joint: npt.NDArray[np.int32]
    """int32[transitions, 2]"""
    mover: npt.NDArray[np.int64]
    """int64[transitions]: the role that moved; -1 where both passed."""


@dataclass(frozen=True)
class _Cells:
    """Per cell (list index): its disc fluents by role, its moves by role (-1 where it has none), and other fluents."""

    discs: list[tuple[int, int]]
    moves: list[tuple[int, int]]
    blanks: dict[int, int]
    filled: dict[int, int]
    lasting: list[int]
    """Fluents that were true in every position."""
    ignored: list[int]
    """Fluents without a meaning here. That nothing depends on them is for the verification to show."""


def _observe(machine: CircuitMachine) -> _Observed | None:
    """Play random matches; None where they are not turns of one role's moves and the other's single pass."""
    sample = machine.random_matches(SAMPLE_MATCHES, 1, max_plies=MAX_PLIES)
    if len(sample.states) < SAMPLE_POSITIONS:
        matches = SAMPLE_MATCHES * SAMPLE_POSITIONS // len(sample.states)
        sample = machine.random_matches(matches, 1, max_plies=MAX_PLIES)
    fluents = len(machine.game.fluents)
    bits = np.unpackbits(sample.states.view(np.uint8), axis=1, bitorder="little")[:, :fluents].astype(np.bool_)
    legal, terminal = machine.legal_of(sample.states)
    split = int(machine.programs.role_start[1])
    follows = np.flatnonzero((sample.match[:-1] == sample.match[1:]) & (sample.joint[:-1, 0] >= 0))
    if len(follows) == 0 or not terminal.any():
        return None
    joint = sample.joint[follows]
    changes = (bits[follows] != bits[follows + 1]).sum(axis=1)
    by_role = (legal[:, :split], legal[:, split:])
    waits, passes = [], []
    active = np.zeros((len(bits), 2), np.bool_)
    for role, part in enumerate(by_role):
        waits.append(int(np.bincount(joint[:, role]).argmax()))
        passes.append(_pass(part, joint[:, role], changes, waits[role]))
        active[:, role] = np.delete(part, [waits[role], passes[role]], axis=1).any(axis=1)
    active[terminal] = False
    if active.all(axis=1).any() or not active.any(axis=0).all():
        return None
    decided = active.any(axis=1)
    turn = active[decided, 1]
    control = {}
    for role in (0, 1):
        same = (bits[decided] == (turn == role)[:, None]).all(axis=0)
        control.update({int(fluent): role for fluent in np.flatnonzero(same)})
    if not control:
        return None
    moved = (joint != np.array(waits)) & (joint != np.array(passes))
    if moved.all(axis=1).any():
        return None
    mover = np.where(moved[:, 0], 0, np.where(moved[:, 1], 1, -1)).astype(np.int64)
    flag, role = next(iter(control.items()))
    holder = np.where(bits[:, flag], role, 1 - role)
    stays = bool((holder[follows + 1] == holder[follows])[mover >= 0].any())
    before, after = bits[follows], bits[follows + 1]
    return _Observed(bits, control, (waits[0], waits[1]), (passes[0], passes[1]), stays, before, after, joint, mover)


def _pass(legal: Bits, played: npt.NDArray[np.int32], changes: npt.NDArray[np.int64], wait: int) -> int:
    """The move of a role that has no other when it is its turn, if it is not the one it waits with.

    It is the only legal move wherever it is legal, and changes less than every move that takes a cell.
    """
    forced = legal.any(axis=0) & ~(legal & (legal.sum(axis=1) > 1)[:, None]).any(axis=0)
    for move in np.flatnonzero(forced):
        mine, others = played == move, (played != move) & (played != wait)
        if move != wait and mine.any() and others.any() and changes[mine].max() < changes[others].min():
            return int(move)
    return wait


def _cells(observed: _Observed) -> _Cells | None:
    """Tell disc fluents from others, pair those of one cell, and find the move that takes each cell."""
    before, after, bits = observed.before, observed.after, observed.bits
    rises, falls = ~before & after, before & ~after
    by = [observed.mover == role for role in (0, 1)]
    up = [rises[by[role]].any(axis=0) for role in (0, 1)]
    down = [falls[by[role]].any(axis=0) for role in (0, 1)]
    is_control = np.zeros(bits.shape[1], np.bool_)
    is_control[list(observed.control)] = True
    stays = (before & after).any(axis=0)  # unlike a count of plies, say
    discs = [np.flatnonzero(up[role] & ~down[role] & ~up[1 - role] & stays & ~is_control) for role in (0, 1)]
    if len(discs[0]) != len(discs[1]) or not MIN_CELLS <= len(discs[0]) <= 64:
        return None
    counts = bits.astype(np.float32)
    together = counts[:, discs[0]].T @ counts[:, discs[1]] > 0
    if not ((~together).sum(axis=0) == 1).all() or not ((~together).sum(axis=1) == 1).all():
        return None
    pairs = [(int(first), int(discs[1][(~row).argmax()])) for first, row in zip(discs[0], together, strict=True)]
    explained = set(observed.control) | {fluent for pair in pairs for fluent in pair}
    blanks: dict[int, int] = {}
    filled: dict[int, int] = {}
    taken = np.stack([bits[:, first] | bits[:, second] for first, second in pairs])
    idle = set(np.flatnonzero((bits == bits[0]).all(axis=0)).tolist()) - explained
    for fluent in set(range(bits.shape[1])) - explained - idle:
        for meaning, columns in ((blanks, ~taken), (filled, taken)):
            same = np.flatnonzero((columns == bits[:, fluent]).all(axis=1))
            if len(same) == 1:
                meaning[fluent] = int(same[0])
    ignored = sorted(set(range(bits.shape[1])) - explained - idle - set(blanks) - set(filled))
    moves = [_moves(observed, rises, role, [pair[role] for pair in pairs]) for role in (0, 1)]
    if moves[0] is None or moves[1] is None:
        return None
    lasting = [fluent for fluent in idle if bits[0, fluent]]
    return _Cells(pairs, list(zip(*moves, strict=True)), blanks, filled, lasting, ignored)


def _moves(observed: _Observed, rises: Bits, role: int, discs: list[int]) -> list[int] | None:
    """Per cell, the role's move that always puts a disc there (-1 for none); None where moves are not cells."""
    result = [-1] * len(discs)
    mine = observed.mover == role
    for move in np.unique(observed.joint[mine, role]):
        always = rises[mine & (observed.joint[:, role] == move)][:, discs].all(axis=0)
        cells = np.flatnonzero(always)
        if len(cells) != 1 or result[cells[0]] >= 0:
            return None
        result[cells[0]] = int(move)
    return result


def _bind(machine: CircuitMachine, observed: _Observed, cells: _Cells) -> ReversiBinding | None:
    """Find the geometry, the goals and the first position, and name everything by terms."""
    triples = _triples(machine, observed, cells)
    places = embed(len(cells.discs), triples) if triples else None
    if places is None:
        return None
    goals = _goals(machine, observed, cells)
    if goals is None:
        return None
    values, minority = goals
    initial = machine.programs.initial != 0
    start = [
        sum(1 << place for place, pair in zip(places, cells.discs, strict=True) if initial[pair[role]])
        for role in (0, 1)
    ]
    flag, role = next(iter(observed.control.items()))
    fluents, moves = machine.game.fluents, machine.game.moves

    def disc_facts(role: int) -> dict[Term, int]:
        return {fluents[pair[role]]: place for pair, place in zip(cells.discs, places, strict=True)}

    def move_cells(role: int) -> dict[Term, int]:
        pairs = zip(cells.moves, places, strict=True)
        return {moves[role][pair[role]]: place for pair, place in pairs if pair[role] >= 0}

    return ReversiBinding(
        variant=ReversiVariant(
            playable=sum(1 << place for place in places),
            start=(start[0], start[1]),
            first=role if initial[flag] else 1 - role,
            noop=not observed.stays,
            minority=minority,
        ),
        discs=(disc_facts(0), disc_facts(1)),
        blanks={fluents[fluent]: places[cell] for fluent, cell in cells.blanks.items()},
        filled={fluents[fluent]: places[cell] for fluent, cell in cells.filled.items()},
        control={fluents[fluent]: role for fluent, role in observed.control.items()},
        always=frozenset(machine.game.always).union(fluents[fluent] for fluent in cells.lasting),
        moves=(move_cells(0), move_cells(1)),
        passes=(moves[0][observed.passes[0]], moves[1][observed.passes[1]]),
        waits=(moves[0][observed.waits[0]], moves[1][observed.waits[1]]),
        ignored=frozenset(fluents[fluent] for fluent in cells.ignored),
        goals=values,
    )


def _craft(
    machine: CircuitMachine, observed: _Observed, cells: _Cells, owners: npt.NDArray[np.int8], turn: int
) -> npt.NDArray[np.uint64]:
    """Packed states (states, words) for boards `owners` (int8[states, cells]: 0, 1, or -1 for empty)."""
    fluents = observed.bits.shape[1]
    bits = np.zeros((len(owners), -(-fluents // 64) * 64), np.uint8)
    for role in (0, 1):
        bits[:, [pair[role] for pair in cells.discs]] = owners == role
    for names, wanted in ((cells.blanks, owners < 0), (cells.filled, owners >= 0)):
        bits[:, list(names)] = wanted[:, list(names.values())]
    first = [fluent for fluent in cells.ignored if machine.programs.initial[fluent]]
    bits[:, [*first, *cells.lasting, *(fluent for fluent, role in observed.control.items() if role == turn)]] = 1
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint64)


def _triples(machine: CircuitMachine, observed: _Observed, cells: _Cells) -> set[Triple] | None:
    """All (w, u, v) where role 0 may play w against role 1's disc on u and its own on v; None where w is not unique."""
    count = len(cells.discs)
    ordered = [(u, v) for u in range(count) for v in range(count) if u != v]
    owners = np.full((len(ordered), count), -1, np.int8)
    rows = np.arange(len(ordered))
    owners[rows, [u for u, _ in ordered]] = 1
    owners[rows, [v for _, v in ordered]] = 0
    legal, _ = machine.legal_of(_craft(machine, observed, cells, owners, 0))
    mine = legal[:, : int(machine.programs.role_start[1])].copy()
    mine[:, [observed.passes[0], observed.waits[0]]] = False
    if (mine.sum(axis=1) > 1).any():
        return None
    taker = {pair[0]: cell for cell, pair in enumerate(cells.moves) if pair[0] >= 0}
    found = set()
    for row in np.flatnonzero(mine.any(axis=1)):
        target = taker.get(int(mine[row].argmax()))
        if target is not None:  # else a cell that is taken from the start
            found.add((target, *ordered[row]))
    return found


def _goals(
    machine: CircuitMachine, observed: _Observed, cells: _Cells
) -> tuple[tuple[tuple[int, int, int], tuple[int, int, int]], bool] | None:
    """Per role the goals of a loss, a draw and a win, asked of full boards, and whether the minority wins."""
    count = len(cells.discs)
    owners = np.zeros((3, count), np.int8)
    owners[1, : count // 2] = 1
    owners[2] = 1
    values = machine.goals_of(_craft(machine, observed, cells, owners, 0))
    if count % 2:
        # No full board is a draw: its value shows in matches that ended with empty cells. Without any of those it
        # does not matter much.
        sample = machine.random_matches(ODD_MATCHES, 3, max_plies=MAX_PLIES)
        found = np.unique(machine.goals_of(np.ascontiguousarray(sample.states[sample.terminal])), axis=0)
        others = [row for row in found if not (row == values[0]).all() and not (row == values[2]).all()]
        values[1] = others[0] if len(others) == 1 else (values[0] + values[2]) // 2
    if (values < 0).any():
        return None
    first, second = values[:, 0], values[:, 1]
    if first[0] == first[2] or (first[0] > first[2]) == (second[0] > second[2]):
        return None
    minority = bool(first[0] < first[2])
    order = (0, 1, 2) if minority else (2, 1, 0)
    losing_first = tuple(int(first[index]) for index in order)
    losing_second = tuple(int(second[index]) for index in reversed(order))
    return (
        (losing_first[0], losing_first[1], losing_first[2]),
        (losing_second[0], losing_second[1], losing_second[2]),
    ), minority
