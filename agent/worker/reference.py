"""The reference state of a match: what the rules make of the joint moves that the manager sends.

The manager's joint move is the truth, also where it differs from what we answered. One that is not legal, or has the
wrong number of moves, is not applied: it is more likely noise than a move that was really made. Should the next one be
legal only after it, the manager did mean it, and both are applied.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Sequence

from agent.worker.messages import Checkpoint, JointMove, Judged, Received, Situation, Unseen
from games.gdl.crosscheck import Observation, Step, observe
from games.machine import GameError, State, StateMachine, Term
from protocol.kif import write

log = logging.getLogger(__name__)


class Reference:
    """Follows a match on one machine."""

    def __init__(self, machine: StateMachine, role: int, checkpoint: Checkpoint) -> None:
        """Takes the match up at a checkpoint. Raises `GameError` where the machine does not know its facts."""
        self.machine = machine
        self.role = role
        self.turn = checkpoint.turn
        self.state: State = machine.initial() if checkpoint.facts is None else machine.state(checkpoint.facts)
        self._disputed = checkpoint.disputed
        self._last: JointMove | None = None
        self._legal: list[list[Term]] | None = None
        self._unobserved: list[tuple[State, State | None, JointMove | None]] = [(self.state, None, None)]
        """States that were come through, each with the step that led there."""
        self._initial = checkpoint.facts is None
        for received in checkpoint.since:
            self.follow(received)

    @property
    def legal(self) -> list[list[Term]]:
        """The legal moves of every role."""
        if self._legal is None:
            self._legal = [self.machine.legal(self.state, role) for role in range(len(self.machine.roles))]
        return self._legal

    def follow(self, received: Received) -> list[tuple[JointMove, State]]:
        """Takes the next turn's joint move in; returns the steps really made, each with the state after it."""
        self.turn += 1
        joint_move = self._complete(received) if isinstance(received, Unseen) else received
        if isinstance(joint_move, Judged):
            joint_move = joint_move.moves
        roles = len(self.machine.roles)
        if len(joint_move) != roles:
            log.error("turn %d: %d moves for %d roles: not applied", self.turn, len(joint_move), roles)
            return []
        disputed = self._disputed
        culprit = self._illegal(joint_move, self.legal)
        if culprit is None:
            return [self._apply(joint_move)]
        if disputed is not None and (steps := self._apply_both(disputed, joint_move)):
            log.warning("turn %d: the joint move refused before is needed: both applied", self.turn)
            return steps
        role, move = self.machine.roles[culprit], joint_move[culprit]
        log.error("turn %d: %s is illegal for %s: not applied", self.turn, write(move), write(role))
        self._disputed = joint_move
        return []

    def situation(self) -> Situation:
        """The present state as the server process needs to know it."""
        machine, state = self.machine, self.state
        terminal = machine.terminal(state)
        last = self._last
        return Situation(
            turn=self.turn,
            role=self.role,
            legal=tuple(self.legal[self.role]),
            terminal=terminal,
            goals=tuple(machine.goal(state, role) for role in range(len(machine.roles))) if terminal else None,
            checkpoint=Checkpoint(self.turn, machine.facts(state), self._disputed),
            repeatable=last is not None and not terminal and self._illegal(last, self.legal) is None,
        )

    def observations(self) -> Iterator[Observation]:
        """What the machine said on the way here, state by state, since the last call."""
        path, self._unobserved = self._unobserved, []
        for state, before, joint_move in path:
            if joint_move is None:
                yield observe(self.machine, state, initial=self._initial)
            else:
                yield observe(self.machine, state, Step(self.machine.facts(before), joint_move))

    def _apply(self, joint_move: JointMove) -> tuple[JointMove, State]:
        before, self.state = self.state, self.machine.next(self.state, joint_move)
        self._unobserved.append((self.state, before, joint_move))
        self._disputed = None
        self._last = joint_move
        self._legal = None
        return joint_move, self.state

    def _apply_both(self, disputed: JointMove, joint_move: JointMove) -> list[tuple[JointMove, State]]:
        try:
            between = self.machine.next(self.state, disputed)
            legal = [self.machine.legal(between, role) for role in range(len(self.machine.roles))]
        except GameError:
            return []
        if self._illegal(joint_move, legal) is not None:
            return []
        return [self._apply(disputed), self._apply(joint_move)]

    def _complete(self, unseen: Unseen) -> JointMove:
        """Some joint move that fits: the own move as known, anything legal for the others."""
        guess = [random.choice(moves) if moves else "nil" for moves in self.legal]
        if unseen.own is not None and unseen.own in self.legal[self.role]:
            guess[self.role] = unseen.own
        return tuple(guess)

    @staticmethod
    def _illegal(joint_move: JointMove, legal: Sequence[Sequence[Term]]) -> int | None:
        """The first role whose move is not legal. A role without legal moves may do anything."""
        for role, (move, moves) in enumerate(zip(joint_move, legal, strict=True)):
            if moves and move not in moves:
                return role
        return None
