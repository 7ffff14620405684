"""Recognition of the Reversi family by behaviour, never by names.

Random matches of the compiled game tell which facts are discs of which role, control, or blanks: a role's disc facts
rise on its own moves and fall on the other's; a cell's two disc facts are never true together. Queries of the circuit
find rows of cells: with one disc of each role on an otherwise empty board, the only legal move is the cell that
brackets. The resulting proposal is verified over whole matches (`games.native.reversi.verify`). Where the match begins
midway, both are done on the freed circuit (`games.native.midway`), all but the verification.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from games.gdl.running.batches import facts_in, packed
from games.gdl.running.machine import CircuitMachine
from games.machine import Term, UnknownFactError
from games.native.midway import Undoing
from games.native.recognition import NotRecognised, Recognition
from games.native.reversi.binding import ReversiBinding
from games.native.reversi.geometry import Triple, embed
from games.native.reversi.rules import ReversiVariant
from games.native.reversi.verify import follow

Bits = npt.NDArray[np.bool_]

ODD_MATCHES = 2000
"""Random matches searched for a draw where the number of cells is odd."""
MIDWAY_SAMPLES = 3
"""Samples of a freed machine: one in a hundred late positions needs a second."""
MOST_FACTS = 64 * 4 + 2
"""Most facts that change."""
MOST_FREED_FACTS = 1024
"""Most facts of a freed machine, of which many may never change."""
MIN_CELLS = 8
"""Least number of moves per role."""


def propose_midway(machine: CircuitMachine, freed: CircuitMachine) -> ReversiBinding:
    """The freed machine's binding, begun in the first position of the machine itself."""
    _check_size(freed, MOST_FREED_FACTS)
    undoing = Undoing(freed)
    for seed in range(1, MIDWAY_SAMPLES + 1):
        begun = undoing.some_moves(freed, seed)
        try:
            observed = _observe(begun)
            binding = _bind(begun, observed, _cells(observed))
            break
        except NotRecognised:
            if seed == MIDWAY_SAMPLES:
                raise
    try:
        first = binding.position(machine.facts(machine.initial()))
    except UnknownFactError as error:
        raise NotRecognised(f"it looks like Reversi, but it begins in no position: {error}") from None
    return replace(binding, variant=replace(binding.variant, start=first.discs, first=first.turn))


def propose(machine: CircuitMachine) -> ReversiBinding:
    """A binding that fits a few random matches and the geometry. Raises `NotRecognised`."""
    _check_size(machine, MOST_FACTS)
    observed = _observe(machine)
    return _bind(machine, observed, _cells(observed))


def _check_size(machine: CircuitMachine, most_facts: int) -> None:
    """Raises `NotRecognised` where roles, moves or facts are too many or too few."""
    moves = [len(moves) for moves in machine.game.moves]
    if len(moves) != 2:
        raise NotRecognised(f"{len(moves)} role{'s' * (len(moves) != 1)} instead of 2")
    if min(moves) < MIN_CELLS:
        raise NotRecognised(f"a role has {min(moves)} moves, and boards are looked at from {MIN_CELLS} cells on")
    if max(moves) > 65:
        raise NotRecognised(f"a role has {max(moves)} moves, more than 64 cells and a pass")
    if len(machine.game.fluents) > most_facts:
        raise NotRecognised(f"{len(machine.game.fluents)} facts change, more than 64 cells have")


@dataclass(frozen=True)
class _Observed:
    """Random matches, and their immediate findings."""

    bits: Bits
    """bool[positions, fluents]"""
    control: dict[int, int]
    """Fluents that say whose turn it is."""
    waits: tuple[int, int]
    """Per role, index of its move while the other role moves."""
    passes: tuple[int, int]
    """Per role, index of its move when it has no other; often the same as in `waits`."""
    stays: bool
    """Whether control ever stayed with a role that moved."""
    before: Bits
    after: Bits
    """bool[transitions, fluents]"""
    joint: npt.NDArray[np.int32]
    """int32[transitions, 2]"""
    mover: npt.NDArray[np.int64]
    """int64[transitions]: the role that moved; -1 where both passed."""


@dataclass(frozen=True)
class _Cells:
    """Per cell (list index): its disc fluents by role, its moves by role (-1 for none), and other fluents."""

    discs: list[tuple[int, int]]
    moves: list[tuple[int, int]]
    blanks: dict[int, int]
    filled: dict[int, int]
    lasting: list[int]
    """Fluents true in every position."""
    ignored: list[int]
    """Fluents without a meaning here. Verification shows that nothing depends on them."""


def _observe(machine: CircuitMachine) -> _Observed:
    """Looks at random matches. Raises `NotRecognised` unless one role at a time has a choice, the other one a pass."""
    sample = machine.sample
    fluents = len(machine.game.fluents)
    bits = facts_in(sample.states, fluents)
    legal, terminal = machine.legal_of(sample.states)
    split = int(machine.programs.role_start[1])
    follows = np.flatnonzero((sample.match[:-1] == sample.match[1:]) & (sample.joint[:-1, 0] >= 0))
    if len(follows) == 0 or not terminal.any():
        raise NotRecognised("no random match ends")
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
    if active.all(axis=1).any():
        raise NotRecognised("both roles have a choice at the same time: they do not take turns")
    if not active.any(axis=0).all():
        raise NotRecognised("a role never has a choice")
    decided = active.any(axis=1)
    turn = active[decided, 1]
    control = {}
    for role in (0, 1):
        same = (bits[decided] == (turn == role)[:, None]).all(axis=0)
        control.update({int(fluent): role for fluent in np.flatnonzero(same)})
    if not control:
        raise NotRecognised("no fact says whose turn it is")
    moved = (joint != np.array(waits)) & (joint != np.array(passes))
    if moved.all(axis=1).any():
        raise NotRecognised("both roles move at the same time")
    mover = np.where(moved[:, 0], 0, np.where(moved[:, 1], 1, -1)).astype(np.int64)
    flag, role = next(iter(control.items()))
    holder = np.where(bits[:, flag], role, 1 - role)
    stays = bool((holder[follows + 1] == holder[follows])[mover >= 0].any())
    before, after = bits[follows], bits[follows + 1]
    return _Observed(bits, control, (waits[0], waits[1]), (passes[0], passes[1]), stays, before, after, joint, mover)


def _pass(legal: Bits, played: npt.NDArray[np.int32], changes: npt.NDArray[np.int64], wait: int) -> int:
    """The only move of a role on its turn when it cannot take a cell; `wait` if there is no other such move.

    It is the only legal move wherever it is legal, and changes fewer facts than every move that takes a cell.
    """
    forced = legal.any(axis=0) & ~(legal & (legal.sum(axis=1) > 1)[:, None]).any(axis=0)
    for move in np.flatnonzero(forced):
        mine, others = played == move, (played != move) & (played != wait)
        if move != wait and mine.any() and others.any() and changes[mine].max() < changes[others].min():
            return int(move)
    return wait


def _cells(observed: _Observed) -> _Cells:
    """Find disc fluents, pair those of one cell, find the moves that take cells. Raises `NotRecognised`."""
    before, after, bits = observed.before, observed.after, observed.bits
    rises, falls = ~before & after, before & ~after
    by = [observed.mover == role for role in (0, 1)]
    up = [rises[by[role]].any(axis=0) for role in (0, 1)]
    down = [falls[by[role]].any(axis=0) for role in (0, 1)]
    is_control = np.zeros(bits.shape[1], np.bool_)
    is_control[list(observed.control)] = True
    stays = (before & after).any(axis=0)  # unlike a count of plies
    discs = [np.flatnonzero(up[role] & ~down[role] & ~up[1 - role] & stays & ~is_control) for role in (0, 1)]
    numbers = [len(facts) for facts in discs]
    if numbers[0] != numbers[1] or not MIN_CELLS <= numbers[0] <= 64:
        raise NotRecognised(
            f"{numbers[0]} and {numbers[1]} facts behave like discs of the roles (come by a role's moves, go only by "
            f"those of the other one), not as many of both, {MIN_CELLS} to 64"
        )
    counts = bits.astype(np.float32)
    together = counts[:, discs[0]].T @ counts[:, discs[1]] > 0
    if not ((~together).sum(axis=0) == 1).all() or not ((~together).sum(axis=1) == 1).all():
        raise NotRecognised(
            f"{numbers[0]} facts of each role behave like discs, but they do not form cells: pairs, one fact of each "
            "role, of which never both hold"
        )
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
    lasting = [fluent for fluent in idle if bits[0, fluent]]
    return _Cells(pairs, list(zip(*moves, strict=True)), blanks, filled, lasting, ignored)


def _moves(observed: _Observed, rises: Bits, role: int, discs: list[int]) -> list[int]:
    """Per cell, the role's move that always puts a disc there, or -1. Raises `NotRecognised` if moves are no cells."""
    result = [-1] * len(discs)
    mine = observed.mover == role
    for move in np.unique(observed.joint[mine, role]):
        always = rises[mine & (observed.joint[:, role] == move)][:, discs].all(axis=0)
        cells = np.flatnonzero(always)
        if len(cells) != 1:
            raise NotRecognised(f"a move always puts discs on {len(cells)} cells instead of 1")
        if result[cells[0]] >= 0:
            raise NotRecognised("two moves of a role put a disc on the same cell")
        result[cells[0]] = int(move)
    return result


def _bind(machine: CircuitMachine, observed: _Observed, cells: _Cells) -> ReversiBinding:
    """Find geometry, goals and first position, and express everything in terms. Raises `NotRecognised`."""
    triples = _triples(machine, observed, cells)
    if not triples:
        raise NotRecognised("a disc of one role beside one of the other one makes no move legal: nothing is enclosed")
    places = embed(len(cells.discs), triples)
    if places is None:
        raise NotRecognised(
            f"its {len(cells.discs)} cells, by the lines on which discs enclose others, are no part of an 8x8 board"
        )
    values, minority = _goals(machine, observed, cells)
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
    """Packed states (states, words) of boards `owners` (int8[states, cells]: 0, 1, or -1 for empty)."""
    fluents = observed.bits.shape[1]
    bits = np.zeros((len(owners), fluents), np.bool_)
    for role in (0, 1):
        bits[:, [pair[role] for pair in cells.discs]] = owners == role
    for names, wanted in ((cells.blanks, owners < 0), (cells.filled, owners >= 0)):
        bits[:, list(names)] = wanted[:, list(names.values())]
    first = [fluent for fluent in cells.ignored if machine.programs.initial[fluent]]
    bits[:, [*first, *cells.lasting, *(fluent for fluent, role in observed.control.items() if role == turn)]] = True
    return packed(bits)


def _triples(machine: CircuitMachine, observed: _Observed, cells: _Cells) -> set[Triple]:
    """All (w, u, v): role 0 may play w against role 1's disc on u and its own on v. `NotRecognised` for several w."""
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
        raise NotRecognised(
            "with one disc of each role alone on the board, several moves are legal instead of one that encloses"
        )
    taker = {pair[0]: cell for cell, pair in enumerate(cells.moves) if pair[0] >= 0}
    found = set()
    for row in np.flatnonzero(mine.any(axis=1)):
        target = taker.get(int(mine[row].argmax()))
        if target is not None:  # else a cell taken from the start
            found.add((target, *ordered[row]))
    return found


def _goals(
    machine: CircuitMachine, observed: _Observed, cells: _Cells
) -> tuple[tuple[tuple[int, int, int], tuple[int, int, int]], bool]:
    """Per role the goals of a loss, a draw and a win, by full boards, and whether the minority wins.

    Raises `NotRecognised` where the number of discs does not decide.
    """
    count = len(cells.discs)
    owners = np.zeros((3, count), np.int8)
    owners[1, : count // 2] = 1
    owners[2] = 1
    values = machine.goals_of(_craft(machine, observed, cells, owners, 0))
    if count % 2:
        # No full board is a draw: its value shows in matches that end with empty cells. Without such matches, it
        # hardly matters.
        sample = machine.random_matches(ODD_MATCHES, 3)
        found = np.unique(machine.goals_of(np.ascontiguousarray(sample.states[sample.terminal])), axis=0)
        others = [row for row in found if not (row == values[0]).all() and not (row == values[2]).all()]
        values[1] = others[0] if len(others) == 1 else (values[0] + values[2]) // 2
    if np.isnan(values).any():
        raise NotRecognised("a role has no goal value on a full board")
    first, second = values[:, 0], values[:, 1]
    if first[0] == first[2] or (first[0] > first[2]) == (second[0] > second[2]):
        raise NotRecognised("full boards of one role's discs alone are not a win of one role and a loss of the other")
    minority = bool(first[0] < first[2])
    order = (0, 1, 2) if minority else (2, 1, 0)
    losing_first = tuple(int(first[index]) for index in order)
    losing_second = tuple(int(second[index]) for index in reversed(order))
    return (
        (losing_first[0], losing_first[1], losing_first[2]),
        (losing_second[0], losing_second[1], losing_second[2]),
    ), minority


RECOGNITION = Recognition("Reversi", propose, propose_midway, follow)
recognise = RECOGNITION.recognise
