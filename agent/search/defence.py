"""Where all moves lose: the move after which a player who errs goes wrong most often."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.engine import MOST_CANDIDATES, Candidate, Limit, Opinion, Report, Score, StopFlag
from games.gdl.running.machine import CircuitMachine
from games.machine import State, Term

ERRORS = 0.3
"""Share of random moves of the other player. With 0.1 or 0.5 the same moves are best in most small games (see
docs/experiments.md)."""

UNKNOWN = 0.5
"""Worth (0..1) of a state that is not looked into."""

MOST_STATES = 1 << 17
"""Most states that are looked at in a turn."""

LANES = 64
"""States that are looked at, or made, at once."""


class _Layer(NamedTuple):
    """The states after some plies, and the edges to those one ply later."""

    worth: NDArray[np.float64]
    """(states) 0..1 for our role, `UNKNOWN` where the match goes on."""
    own: NDArray[np.bool_]
    """(states) whether the role chooses, rather than the other one."""
    parent: NDArray[np.int64]
    """(edges) ascending."""
    move: NDArray[np.int32]
    """(edges) of whoever chooses, numbered by role."""
    child: NDArray[np.int64]
    """(edges) number in the next layer."""

    def values(self, following: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values of its states by those of the next layer (see `Defence`)."""
        values = self.worth.copy()
        if len(self.parent):
            begin = np.flatnonzero(np.diff(self.parent, prepend=-1))
            parent, edges = self.parent[begin], following[self.child]
            sizes = np.diff(begin, append=len(edges))
            least, mean = np.minimum.reduceat(edges, begin), np.add.reduceat(edges, begin) / sizes
            answered = (1 - ERRORS) * least + ERRORS * mean
            values[parent] = np.where(self.own[parent], np.maximum.reduceat(edges, begin), answered)
        return values


class Defence:
    """Expectimax against a player who errs, for one role of a game of two players without chance.

    To a proof all losing moves are alike. Here the other player makes a random move now and then, and otherwise the
    best one. All states are looked at, ply by ply; where both choose at once the search ends.
    """

    def __init__(self, machine: CircuitMachine, role: int) -> None:
        self._machine, self._role = machine, role

    def needed(self, opinion: Opinion, state: State) -> bool:
        """Whether the opinion of a search is its last one, and says that all moves lose, of which there are several."""
        goals, score = self._machine.game.goals[self._role], opinion.score
        lost = opinion.final and score is not None and score.proven and bool(goals) and score.goal <= min(goals)
        return lost and len(self._machine.legal(state, self._role)) > 1

    def think(self, lost: Opinion, state: State, stop: StopFlag, report: Report, limit: Limit) -> None:
        """Looks for a better move than that of `lost`, an opinion for which it is `needed`, which is best of equals.

        As `Engine.think`; the last opinion is final unless it is stopped. The nodes of the limit are states.
        """
        best = lost
        for values in self._deepen(state, stop, min(limit.nodes or MOST_STATES, MOST_STATES)):
            most = max(values.values())
            if values.get(lost.move, 0.0) < most:
                best = _with_move(lost, max(values, key=lambda move: values[move]))
            else:
                best = lost
            report(replace(best, final=False))
        if not stop[0]:
            report(replace(best, final=True))

    def _deepen(self, state: State, stop: StopFlag, most: int) -> Iterator[dict[Term, float]]:
        """The value of each legal move, ply by ply, until `stop`, or until all or `most` states were looked at."""
        layers: list[_Layer] = []
        states = self._machine.pack(state)[None, :]
        while 0 < len(states) <= most:
            most -= len(states)
            found = self._look_at(states, stop, most)
            if found is None:
                return
            layer, states = found
            layers.append(layer)
            values = np.full(len(states), UNKNOWN)
            for layer in layers[:0:-1]:
                values = layer.values(values)
            root = layers[0]
            if not len(root.parent):
                # Both choose at once.
                return
            moves = self._machine.game.moves[self._role]
            yield {moves[move]: float(values[child]) for move, child in zip(root.move, root.child, strict=True)}

    def _look_at(
        self, states: NDArray[np.uint64], stop: StopFlag, most: int
    ) -> tuple[_Layer, NDArray[np.uint64]] | None:
        """The layer of different packed states (n, words), and the states of the next one.

        None after `stop`, or where these are more than `most`.
        """
        numbers: dict[bytes, int] = {}
        parts: list[_Layer] = []
        for begin in range(0, len(states), LANES):
            part = states[begin : begin + LANES]
            worth, chooser, parent, joint = self._edges_of(part)
            child: list[int] = []
            for edge in range(0, len(parent), LANES):
                if stop[0] or len(numbers) > most:
                    return None
                made = self._machine.next_of(part[parent[edge : edge + LANES]], joint[edge : edge + LANES])
                child += [numbers.setdefault(words.tobytes(), len(numbers)) for words in made]
            move = joint[np.arange(len(parent)), chooser[parent]]
            parts.append(_Layer(worth, chooser == self._role, begin + parent, move, np.array(child, np.int64)))
            if stop[0]:
                return None
        layer = _Layer(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        return layer, np.frombuffer(b"".join(numbers), np.uint64).reshape(-1, self._machine.words)

    def _edges_of(
        self, states: NDArray[np.uint64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Of packed states: their worths, and the role that chooses. Of their edges, in order: the state, and the joint
        move (edges, 2)."""
        machine, start = self._machine, self._machine.programs.role_start
        legal, over = machine.legal_of(states)
        worth = np.where(over, machine.worths_of(states)[:, self._role] / 100, UNKNOWN)
        moves = [legal[:, start[role] : start[role + 1]] for role in (0, 1)]
        counts = np.array([of_role.sum(axis=1) for of_role in moves])
        chooser = np.where(counts[1 - self._role] > 1, 1 - self._role, self._role)
        # Nothing follows where a role is stuck, or both choose.
        going = ~over & (counts.min(axis=0) == 1)
        parents, joints = [], []
        for role in (0, 1):
            parent, move = np.nonzero(moves[role] & (going & (chooser == role))[:, None])
            joint = np.zeros((len(parent), 2), np.int32)
            joint[:, role], joint[:, 1 - role] = move, moves[1 - role][parent].argmax(axis=1)
            parents.append(parent)
            joints.append(joint)
        parent, joint = np.concatenate(parents), np.concatenate(joints)
        order = np.argsort(parent, kind="stable")
        return worth, chooser, parent[order], joint[order]


def defended(
    defence: Defence | None,
    search: Callable[[Report], None],
    state: State,
    stop: StopFlag,
    report: Report,
    limit: Limit,
) -> Opinion | None:
    """Runs a search; where it proves that all moves lose, looks for the one that is hardest to answer, too.

    Returns the last opinion of the search itself; without a defence that is all.
    """
    last: Opinion | None = None

    def is_lost(opinion: Opinion) -> bool:
        return defence is not None and defence.needed(opinion, state)

    def take(opinion: Opinion) -> None:
        nonlocal last
        last = opinion
        report(replace(opinion, final=False) if is_lost(opinion) else opinion)

    search(take)
    if last is not None and defence is not None and is_lost(last) and not stop[0]:
        defence.think(last, state, stop, report, limit)
    return last


def _with_move(lost: Opinion, move: Term) -> Opinion:
    """The opinion for another move, which loses as well."""
    score = lost.score and Score(lost.score.goal, proven=True)
    others = [one for one in lost.candidates if one.move != move]
    candidates = (Candidate(move, score), *others)[:MOST_CANDIDATES]
    return replace(lost, move=move, score=score, candidates=candidates, line=())
