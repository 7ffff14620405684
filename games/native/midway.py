"""Games that begin in the middle of a match, as after moves were taken back.

Their circuits lack what can no longer happen: moves on taken cells, changes of facts that stay. So a family binds the
same rules *freed* of the first position (`games.gdl.grounding.freeing`), in positions made up by undoing moves: a
move's facts go, and what it used up comes back. The circuit as sent then verifies the binding.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from games.gdl.running.batches import facts_in, packed
from games.gdl.running.machine import CircuitMachine

Bits = NDArray[np.bool_]

MOST_MOVES = 1 << 14
"""Most moves of a role in the families: 64 pieces on 256 cells."""
WATCHED_MATCHES, WATCHED_PLIES = 64, 8


def may_begin_midway(machine: CircuitMachine) -> bool:
    """Whether a game may be one of the families, by a short look at random play: else it need not be freed.

    Two roles take turns. Each one's facts either go by the other's moves alone, as discs do, or stay, while each move
    uses one other fact up, as placed pieces do. Just before the end there is too little to see.
    """
    if len(machine.roles) != 2 or not 0 < max(map(len, machine.game.moves)) <= MOST_MOVES:
        return False
    sample = machine.random_matches(WATCHED_MATCHES, 1, max_plies=WATCHED_PLIES)
    legal, _ = machine.legal_of(sample.states)
    split = int(machine.programs.role_start[1])
    if ((legal[:, :split].sum(axis=1) > 1) & (legal[:, split:].sum(axis=1) > 1)).any():
        return False
    if sample.terminal.sum() == WATCHED_MATCHES:
        return True
    follows = np.flatnonzero((sample.match[:-1] == sample.match[1:]) & (sample.joint[:-1] >= 0).all(axis=1))
    if not len(follows):
        return False
    joint = sample.joint[follows]
    by = [joint[:, role] != np.bincount(joint[:, role]).argmax() for role in (0, 1)]
    if (by[0] & by[1]).any() or not (by[0].any() and by[1].any()):
        return False
    bits = facts_in(sample.states, len(machine.game.fluents))
    before, after = bits[follows], bits[follows + 1]
    rises, falls = ~before & after, before & ~after
    come, gone = ([changes[mine].any(axis=0) for mine in by] for changes in (rises, falls))
    lasts = (before & after).any(axis=0)  # unlike a count of plies
    if not any((come[role] & gone[role]).any() for role in (0, 1)) and all(
        (gone[1 - role] & ~gone[role] & ~come[1 - role] & lasts).any() for role in (0, 1)
    ):
        return True
    return all(_uses_pieces(rises[by[role]], falls[by[role]], come, gone, role) for role in (0, 1))


def _uses_pieces(rises: Bits, falls: Bits, come: list[Bits], gone: list[Bits], role: int) -> bool:
    """Whether each move of a role uses one fact up that no move makes true, and adds some that stay."""
    pieces = gone[role] & ~gone[1 - role] & ~(come[0] | come[1])
    stay = come[role] & ~(gone[0] | gone[1])
    return bool((falls[:, pieces].sum(axis=1) == 1).all() and rises[:, stay].any(axis=1).all())


class Undoing:
    """Effects that each move has in all states, and states without them."""

    def __init__(self, machine: CircuitMachine) -> None:
        """`machine` is a freed one."""
        n = len(machine.game.fluents)
        self._fluents = n
        adds, removes, rises = [], [], np.zeros(n, np.bool_)
        for role, moves in enumerate(machine.game.moves):
            joint = np.full((len(moves), 2), -1, np.int32)
            joint[:, role] = np.arange(len(moves))
            after = [
                facts_in(machine.next_of(np.repeat(packed(bits), len(moves), axis=0), joint), n)
                for bits in (np.zeros((1, n), np.bool_), np.ones((1, n), np.bool_))
            ]
            rises |= after[0].any(axis=0)
            adds.append(after[0] & ~after[0].all(axis=0))
            removes.append(~after[1] & after[1].any(axis=0))
        self._adds = np.concatenate(adds)
        self._removes = np.concatenate(removes) & ~rises
        self._words = machine.words

    def all_moves(self, state: Bits) -> Bits:
        """The facts (bool[fluents]) of a state as before all moves."""
        bits: Bits = (state & ~self._adds.any(axis=0)) | self._removes.any(axis=0)
        return bits

    def some_moves(self, machine: CircuitMachine, seed: int = 1) -> CircuitMachine:
        """The machine with a first state for each of 64 lanes: its own without the effects of some moves.

        Only `random_matches` knows lanes.
        """
        generator = np.random.default_rng(seed)
        first = machine.programs.initial != 0
        done = np.flatnonzero(self._adds.any(axis=1) & ~(self._adds & ~first).any(axis=1))
        states = np.repeat(first[None], 64, axis=0)
        for lane, state in enumerate(states):
            undone = done[generator.random(len(done)) < lane / 64]
            state &= ~self._adds[undone].any(axis=0)
            state |= self._removes[undone].any(axis=0)
        lanes = np.packbits(np.ascontiguousarray(states.T), axis=1, bitorder="little").view(np.uint64)[:, 0]
        return CircuitMachine(replace(machine.game, programs=machine.programs._replace(initial=lanes)))
