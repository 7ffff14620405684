"""Finds the decisive moves of a game, and checks them on other matches."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agent.search.evaluation.rivals import find_groups, find_rivals
from agent.search.tree.decisive.endings import Ending, find_endings
from agent.search.tree.decisive.kernels import ROW, DecisiveMoves, no_decisive_moves
from agent.search.tree.decisive.makers import Condition, Transitions, find_makers, with_groups
from games.gdl.running.batches import facts_in
from games.gdl.running.machine import CircuitMachine
from games.roles import is_random_role

ENDINGS_SECONDS, MAKERS_SECONDS = 0.3, 0.7
"""Time limits (see `time_limit`) of the searches for endings, and for moves that make their facts true."""
PATIENCE = 10.0
"""Factor on these times where all machines must find the same."""
CLEAR = 0.9
"""Least share of the matches with an ending, or one with some of its facts, that the same role wins."""
MADE = 5
"""Fewest such matches."""
FORESEEN, RIGHT = 10, 0.95
"""Fewest foreseen wins in other matches, and the least share of them that has to come. At 0.98 chance decided in a game
of two boards, where decisive moves help (see docs/experiments.md)."""

_known: weakref.WeakKeyDictionary[CircuitMachine, dict[bool, DecisiveMoves]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def decisive_moves_of(machine: CircuitMachine, *, timeless: bool = False) -> DecisiveMoves:
    """The decisive moves of a game, found once per machine in up to 1.5 s of CPU time. Thread-safe.

    With `timeless` all machines find the same, but for games that take `PATIENCE` times as long.
    """
    with _lock:
        found = _known.setdefault(machine, {})
        if timeless not in found:
            found[timeless] = find_decisive_moves(machine, PATIENCE if timeless else 1.0)
        return found[timeless]


def find_decisive_moves(machine: CircuitMachine, patience: float = 1.0) -> DecisiveMoves:
    """The decisive moves of a game of two players or more; none where they are unclear or too slow to find.

    Endings come from the circuit, their winners and the moves that bring them about from random matches. With more than
    two players each one stops the next to move, if the order is fixed and it would lose by that win.
    """
    programs = machine.programs
    if len(machine.roles) < 2 or any(map(is_random_role, machine.roles)):
        return no_decisive_moves()
    endings = find_endings(programs, patience * ENDINGS_SECONDS)
    places = sum(len(facts) + len(absent) for facts, absent in endings)
    if not 0 < share_of_step(machine, places) <= 1:
        return no_decisive_moves()
    positions = machine.sample
    facts = facts_in(positions.states, len(machine.game.fluents))
    wins, losses = _results(machine, positions.states, positions.terminal)
    owned = _owned(endings, facts, positions.terminal, wins)
    if not owned:
        return no_decisive_moves()
    rivals = find_rivals(machine.game.fluents)
    wanted = np.zeros(facts.shape[1], np.bool_)
    for _, ending in owned:
        for fact in ending.facts:
            wanted[fact] = True
            wanted[rivals[fact]] = True
    at = np.flatnonzero(positions.match[1:] == positions.match[:-1])
    made = positions.joint[at] + programs.role_start[:-1].astype(np.int32)
    groups = [group for group in find_groups(machine.game.fluents) if wanted[group].any()]
    transitions = Transitions(with_groups(facts[at], groups), facts[at + 1], made)
    learnt_from = positions.match[at] % 2 == 0
    makers = find_makers(transitions[learnt_from], wanted, rivals, patience * MAKERS_SECONDS)
    blockers = [
        before if before >= 0 and losses[wins[:, role], before].sum() >= CLEAR * wins[:, role].sum() else -1
        for role, before in enumerate(_turn_order(made, positions.match[at]))
    ]
    moves = _assemble(owned, makers, rivals, groups, blockers, programs.role_start)
    foreseen, right = _foresee(moves, transitions[~learnt_from], wins[at + 1][~learnt_from])
    return moves if right >= FORESEEN and right >= RIGHT * foreseen else no_decisive_moves()


def share_of_step(machine: CircuitMachine, facts: int) -> float:
    """A number of facts that are looked at, as a share of the inputs of the gates of a step."""
    return facts / max(1, len(machine.programs.legal.inputs) + len(machine.programs.next.inputs))


def _foresee(moves: DecisiveMoves, transitions: Transitions, wins: NDArray[np.bool_]) -> tuple[int, int]:
    """The numbers of wins that `moves` foresee and of those that come; `wins` (n, roles) are those after each move."""
    foreseen = np.zeros_like(wins)
    before = transitions.before
    for ending in range(len(moves.first) - 1):
        places = slice(moves.first[ending], moves.first[ending + 1])
        absent = moves.absent[moves.absent_first[ending] : moves.absent_first[ending + 1]]
        missing = ~before[:, moves.fact[places]]
        lone = np.flatnonzero((missing.sum(axis=1) == 1) & ~before[:, absent].any(axis=1))
        threats = moves.threat[places][missing[lone].argmax(axis=1)]
        for threat in np.unique(threats).tolist():
            role = int(moves.role[threat])
            here = lone[threats == threat]
            for row in moves.win[moves.win_first[threat] : moves.win_first[threat + 1]].tolist():
                made = here[transitions.moves[here, role] == row[0]]
                foreseen[made[_hold(row, before[made])], role] = True
    return int(foreseen.sum()), int((foreseen & wins).sum())


def _hold(row: Sequence[int], facts: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether the conditions of a row of `DecisiveMoves` hold, by state (n, fluents + groups)."""
    holding = np.ones(len(facts), np.bool_)
    for fact, other in zip(row[1::2], row[2::2], strict=True):
        if fact < 0:
            holding &= ~facts[:, -fact - 1]
        elif fact > 0:
            holding &= facts[:, fact - 1] | (facts[:, other - 1] if other else False)
    return holding


def _results(
    machine: CircuitMachine, states: NDArray[np.uint64], terminal: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Wins and losses, (n, roles) each, in packed states (n, words).

    A role with its worst goal has lost. One with its best goal has won if the other one of two has lost, or nobody else
    of more has its best goal.
    """
    shape = len(states), len(machine.roles)
    wins, losses = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    goals = machine.goals_of(states[terminal])
    best = goals == np.array([max(values, default=100) for values in machine.game.goals])
    worst = goals == np.array([min(values, default=0) for values in machine.game.goals])
    losses[terminal] = worst
    wins[terminal] = best & worst[:, ::-1] if shape[1] == 2 else best & (best.sum(axis=1) == 1)[:, None]
    return wins, losses


def _turn_order(made: NDArray[np.int32], match: NDArray[np.int32]) -> list[int]:
    """The role that moves before each role; -1 where that varies (with more than two roles).

    `made` (n, roles) are successive joint moves, numbered over all roles, `match` (n) their matches.
    """
    roles = made.shape[1]
    if roles == 2:
        return [1, 0]
    idle = np.array([np.bincount(moves).argmax() for moves in made.T])
    moved = made != idle
    mover = np.where(moved.sum(axis=1) == 1, moved.argmax(axis=1), -1)
    follows = match[1:] == match[:-1]
    order = []
    for role in range(roles):
        before = np.unique(mover[:-1][follows & (mover[1:] == role)])
        order.append(int(before[0]) if len(before) == 1 else -1)
    return order


def _owned(
    endings: Sequence[Ending],
    facts: NDArray[np.bool_],
    terminal: NDArray[np.bool_],
    wins: NDArray[np.bool_],
) -> list[tuple[int, Ending]]:
    """The endings with a clear winner, after the role; `facts` (n, fluents) hold in positions of matches.

    An ending that was never reached is judged by others with the same facts.
    """
    last, wins = facts[terminal], wins[terminal]
    votes = np.zeros((wins.shape[1], facts.shape[1]), np.int64)
    by_ending = []
    for ending in endings:
        won = wins[last[:, ending.facts].all(axis=1) & ~last[:, ending.absent].any(axis=1)]
        by_ending.append(won)
        votes[:, ending.facts] += won.sum(axis=0)[:, None]
    owned = []
    for ending, won in zip(endings, by_ending, strict=True):
        for_each = votes[:, ending.facts].sum(axis=1)
        role = int(for_each.argmax())
        seen = len(won) == 0 or won[:, role].mean() >= CLEAR
        if seen and for_each[role] >= max(MADE, CLEAR * for_each.sum()):
            owned.append((role, ending))
    return owned


def _assemble(
    owned: Sequence[tuple[int, Ending]],
    makers: dict[tuple[int, int], list[Condition]],
    rivals: Sequence[Sequence[int]],
    groups: Sequence[Sequence[int]],
    blockers: Sequence[int],
    role_start: NDArray[np.int64],
) -> DecisiveMoves:
    """The kernels' form of endings, their winners, and the moves that make facts true.

    `blockers` are the roles that stop each role, or -1; `role_start` is that of `CircuitPrograms`.
    """
    rows: list[dict[int, list[list[int]]]] = [{} for _ in blockers]
    for (move, fact), conditions in makers.items():
        numbers = [number for condition in conditions for number in condition]
        row = [move, *numbers, *[0] * (ROW - 1 - len(numbers))]
        rows[int(np.searchsorted(role_start, move, side="right")) - 1].setdefault(fact, []).append(row)
    threats: dict[tuple[int, int], int] = {}
    threat = [threats.setdefault((role, fact), len(threats)) for role, ending in owned for fact in ending.facts]
    win = [rows[role].get(fact, []) for role, fact in threats]
    block = []
    for (role, fact), winning in zip(threats, win, strict=True):
        # A threat without winning moves need not be stopped.
        by = blockers[role] if winning else -1
        block.append([row for rival in rivals[fact] for row in rows[by].get(rival, [])] if by >= 0 else [])
    return DecisiveMoves(
        first=_offsets([ending.facts for _, ending in owned]),
        fact=np.array([fact for _, ending in owned for fact in ending.facts], np.int32),
        threat=np.array(threat, np.int32),
        absent_first=_offsets([ending.absent for _, ending in owned]),
        absent=np.array([fact for _, ending in owned for fact in ending.absent], np.int32),
        role=np.array([role for role, _ in threats], np.int32),
        blocker=np.array([blockers[role] for role, _ in threats], np.int32),
        win_first=_offsets(win),
        win=_table(win),
        block_first=_offsets(block),
        block=_table(block),
        group_first=_offsets(groups),
        group=np.array([fact for group in groups for fact in group], np.int32),
    )


def _offsets(groups: Sequence[Sequence[object]]) -> NDArray[np.int32]:
    return np.cumsum([0, *map(len, groups)]).astype(np.int32)


def _table(groups: Sequence[Sequence[Sequence[int]]]) -> NDArray[np.int32]:
    return np.array([row for group in groups for row in group], np.int32).reshape(-1, ROW)
