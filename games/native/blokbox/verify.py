"""Verification of a binding against the compiled game over whole random matches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.board16x16 import SIDE
from games.bits.compiling import KERNEL
from games.gdl.running.batches import MatchPositions
from games.gdl.running.machine import CircuitMachine
from games.machine import Term
from games.native.blokbox.binding import BlokboxBinding
from games.native.blokbox.rules import PlacementWorkspace, list_moves, new_placement_workspace, placements, play
from games.native.blokbox.variant import BOARD_CELLS, POSITION_WORDS, TURN, BlokboxVariant
from games.native.recognition import Follow, NotRecognised


class _Maps(NamedTuple):
    """A binding in the machine's indices and packed states."""

    roles: NDArray[np.int64]
    """(2) machine role of each player."""
    role_start: NDArray[np.int64]
    """(3) start of each role's moves in the numbering over both roles."""
    waiting: NDArray[np.int64]
    """(2) each player's move while the other plays, as an index within its role."""
    move_of: NDArray[np.int64]
    """(2, machine moves): native move of each machine move, or -1."""
    index_of: NDArray[np.int64]
    """(2, native moves): machine move of each native move, or -1."""
    initial: NDArray[np.uint64]
    """(words): the packed first state."""
    sets: NDArray[np.uint64]
    """(2, native moves, words): facts that a player's move makes true."""
    clears: NDArray[np.uint64]
    """(2, native moves, words): facts that it makes false."""
    flips: NDArray[np.uint64]
    """(words): facts that change with the turn."""


def follow(machine: CircuitMachine, binding: BlokboxBinding) -> Follow:
    """Compares facts, legal moves, end and goals in matches. Raises `NotRecognised` where a cell has no fact."""
    maps, variant = _maps(binding, machine), binding.variant
    buffers = _buffers(variant, machine.words)

    def compare(sample: MatchPositions, legal: NDArray[np.bool_], goals: NDArray[np.float64]) -> bool:
        loser = np.full(len(sample.match), -1, np.int64)
        if not _follow(variant.tables, variant.start, sample, legal, maps, buffers, loser):
            return False
        lost = loser[sample.terminal][:, None] == np.array([0, 1])
        return bool((goals[:, list(binding.roles)] == np.where(lost, 0, 100)).all())

    return compare


def _maps(binding: BlokboxBinding, machine: CircuitMachine) -> _Maps:
    """The binding's maps. Raises `NotRecognised` where a placement covers a cell without a fact."""
    fluents = {fact: index for index, fact in enumerate(machine.game.fluents)}
    n_native = len(binding.variant.shapes) * BOARD_CELLS
    move_of = np.full((2, max(len(moves) for moves in machine.game.moves)), -1, np.int64)
    index_of = np.full((2, n_native), -1, np.int64)
    sets = np.zeros((2, n_native, machine.words), np.uint64)
    clears = np.zeros_like(sets)

    def mark(words: NDArray[np.uint64], fact: Term) -> None:
        index = fluents.get(fact)
        if index is not None:  # else the fact never changes, and the move is never legal
            words[index >> 6] |= np.uint64(1 << (index & 63))

    free_facts = {cell: fact for fact, cell in binding.free.items()}
    for player, role in enumerate(binding.roles):
        cell_facts = {cell: fact for fact, cell in binding.cells[player].items()}
        piece_facts = {piece: fact for fact, piece in binding.owned[player].items()}
        for term, move in binding.moves[player].items():
            index = machine.move_index(role, term)
            move_of[player, index] = move
            index_of[player, move] = index
            shape = binding.variant.shapes[move // BOARD_CELLS]
            y, x = divmod(move % BOARD_CELLS, SIDE)
            mark(clears[player, move], piece_facts[shape.piece])
            for dx, dy in shape.cells:
                cell = x + dx, y + dy
                if cell not in cell_facts:
                    raise NotRecognised(f"a piece covers {cell}, for which there is no fact")
                mark(sets[player, move], cell_facts[cell])
                if cell in free_facts:
                    mark(clears[player, move], free_facts[cell])
    flips = np.zeros(machine.words, np.uint64)
    for fact in binding.control[0] ^ binding.control[1]:
        mark(flips, fact)
    waiting = [machine.move_index(role, binding.waiting[player]) for player, role in enumerate(binding.roles)]
    return _Maps(
        roles=np.array(binding.roles),
        role_start=machine.programs.role_start,
        waiting=np.array(waiting),
        move_of=move_of,
        index_of=index_of,
        initial=machine.pack(machine.initial()),
        sets=sets,
        clears=clears,
        flips=flips,
    )


class _Buffers(NamedTuple):
    """Working memory of `_follow`."""

    everything: NDArray[np.int64]
    """[shapes]: all shapes."""
    moves: NDArray[np.int64]
    """[native moves]"""
    position: NDArray[np.uint64]
    """[POSITION_WORDS]"""
    words: NDArray[np.uint64]
    """[words]: the machine's state after the native moves."""
    workspace: PlacementWorkspace
    """One slot."""


def _buffers(variant: BlokboxVariant, words: int) -> _Buffers:
    return _Buffers(
        np.arange(len(variant.shapes)),
        np.zeros(len(variant.tables.effects), np.int64),
        np.zeros(POSITION_WORDS, np.uint64),
        np.zeros(words, np.uint64),
        new_placement_workspace(variant, 1),
    )


@njit(inline="always")
def _count(legal, row, begin, end):
    """Number of allowed moves in begin..end-1 of a row of `legal` (bool[n, moves])."""
    count = 0
    for move in range(begin, end):
        count += np.int64(legal[row, move])
    return count


@njit(**KERNEL)
def _follow(tables, start, sample, legal, maps, buffers, loser):
    """Replays matches natively; False at the first difference. Sets `loser` (int64[n]) to the player stuck at an end.

    `tables` is a `VariantTables`, `start` the first position (uint64[POSITION_WORDS]), `sample` a `MatchPositions`,
    `legal` (bool[n, moves of both roles]) the machine's legal moves, `maps` a `_Maps`, `buffers` a `_Buffers`.
    """
    states, match, terminal, joint = sample.states, sample.match, sample.terminal, sample.joint
    roles, role_start, waiting, move_of, index_of = (
        maps.roles,
        maps.role_start,
        maps.waiting,
        maps.move_of,
        maps.index_of,
    )
    initial, sets, clears, flips = maps.initial, maps.sets, maps.clears, maps.flips
    everything, moves, position, words, workspace = buffers
    slot = np.int64(0)
    for i in range(len(match)):
        if i == 0 or match[i] != match[i - 1]:
            for word in range(POSITION_WORDS):
                position[word] = start[word]
            for word in range(len(words)):
                words[word] = initial[word]
        for word in range(len(words)):
            if words[word] != states[i, word]:
                return False
        player = np.int64(position[TURN])
        live, total = placements(tables, position, player, everything, len(everything), workspace, slot)
        if terminal[i] != (total == 0):
            return False
        if total == 0:
            loser[i] = player
            continue
        begin = role_start[roles[player]]
        list_moves(workspace, slot, live, moves)
        for n in range(total):
            index = index_of[player, moves[n]]
            if index < 0 or not legal[i, begin + index]:
                return False
        if _count(legal, i, begin, role_start[roles[player] + 1]) != total:
            return False
        begin, end = role_start[roles[1 - player]], role_start[roles[1 - player] + 1]
        if _count(legal, i, begin, end) != 1 or not legal[i, begin + waiting[1 - player]]:
            return False
        move = move_of[player, joint[i, roles[player]]]
        for word in range(len(words)):
            kept = (words[word] | sets[player, move, word]) & ~clears[player, move, word]
            words[word] = kept ^ flips[word]
        play(tables, position, move)
    return True


def warm_kernels(variant: BlokboxVariant) -> None:
    """Compiles the kernel or loads it from the cache."""
    sample = MatchPositions(
        np.zeros((0, 1), np.uint64), np.zeros((0, 2), np.int32), np.zeros(0, np.int32), np.zeros(0, np.bool_)
    )
    two, numbers = np.zeros(2, np.int64), np.zeros((2, 1), np.int64)
    word, words = np.zeros(1, np.uint64), np.zeros((2, 1, 1), np.uint64)
    maps = _Maps(two, np.zeros(3, np.int64), two, numbers, numbers, word, words, words, word)
    legal, loser = np.zeros((0, 0), np.bool_), np.zeros(0, np.int64)
    _follow(variant.tables, variant.start, sample, legal, maps, _buffers(variant, 1), loser)
