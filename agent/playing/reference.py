"""The reference state of a match: the state that follows from the manager's messages.

The manager's joint move is the truth, even if it differs from our answer. One with the wrong number of moves is not
applied. For an illegal one, three explanations are tried in this order: the refused joint move before it was meant
after all, and both are applied; PLAYs were missed before it; it is noise, and is not applied.

Where the state is not known, after missed PLAYs or in a game of imperfect information, the match is followed as the set
of states that fit (`agent.worker.belief`), until one is left.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator, Sequence

from agent.worker.belief import Belief
from agent.worker.evidence import Hidden, Perceive, Resumed, Told
from agent.worker.messages import Checkpoint, JointMove, Judged, Received, Situation, Unseen, count_turns
from games.gdl.crosscheck import Observation, Step, observe
from games.machine import GameError, State, StateMachine, Term
from protocol.kif import write

log = logging.getLogger(__name__)

BUDGET = 1.0
"""Default seconds for finding the states that fit one message."""


class Reference:
    """Follows a match on one machine."""

    def __init__(
        self,
        machine: StateMachine,
        role: int,
        checkpoint: Checkpoint,
        perceive: Perceive | None = None,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Takes the match up at a checkpoint. `perceive` gives the role's percepts in a game of imperfect information;
        `clock`, in seconds, measures the budget.

        Raises `GameError` if the machine does not know the checkpoint's facts.
        """
        self.machine = machine
        self.role = role
        self.turn = checkpoint.turn
        self.budget = BUDGET
        """Seconds for finding the states that fit a message."""
        self.state: State = machine.initial() if checkpoint.facts is None else machine.state(checkpoint.facts)
        """The state; if in doubt, the likeliest one."""
        self.belief = Belief(machine, role, self.state, perceive, rng, clock)
        """The possible states."""
        self.belief.root_turn = self.turn
        self._taken_up = checkpoint.facts is not None
        """Whether this is the first message since the match was taken up: others may have been missed before it."""
        self._disputed = checkpoint.disputed
        self._last: JointMove | None = None
        self._legal: list[list[Term]] | None = None
        initial = checkpoint.facts is None
        self._unobserved: list[tuple[State, State | None, JointMove | None, bool]] = [(self.state, None, None, initial)]
        """States passed through, each with the step that led there, and whether it is the initial one."""
        for received in checkpoint.since:
            self.follow(received)

    @property
    def sure(self) -> bool:
        """Whether the state is known."""
        return self.belief.sure

    @property
    def legal(self) -> list[list[Term]]:
        """Legal moves of every role."""
        if self._legal is None:
            self._legal = [self.machine.legal(self.state, role) for role in range(len(self.machine.roles))]
        return self._legal

    def follow(self, received: Received) -> list[tuple[JointMove, State]]:
        """Takes the next turn's message in; returns the joint moves made, each with the state after it.

        Returns none where the state, or the way there, is not known.
        """
        self.turn += count_turns(received)
        if isinstance(received, Unseen):
            self._follow_unseen(received)
            return []
        moves = received.moves if isinstance(received, Judged) else received
        roles = len(self.machine.roles)
        if len(moves) != roles:
            log.error("turn %d: %d moves for %d roles: not applied", self.turn, len(moves), roles)
            return []
        if self.sure and not (isinstance(received, Judged) and received.missed is not None):
            return self._follow_sure(moves)
        return self._follow_doubtful(received if isinstance(received, Judged) else Judged(moves, None, None))

    def refine(self, stopped: Callable[[], bool]) -> bool:
        """Looks for more states that fit, until it is stopped; returns whether it found any."""
        found = self.belief.refine(stopped)
        self.state = self.belief.likeliest
        self._legal = None
        return found

    def situation(self) -> Situation:
        """Returns the present state, for the server process."""
        machine, state = self.machine, self.state
        last = self._last
        legal = self.legal[self.role]
        terminal = machine.terminal(state)
        if not self.sure:
            terminal = self.belief.is_over()
            legal, support = self.belief.safest_moves(self.budget)
            log.info(
                "turn %d: %s%d states fit; moves that are legal in %.0f %% of them: %d",
                self.turn,
                "" if self.belief.exhaustive else "at least ",
                len(self.belief.weights),
                100 * support,
                len(legal),
            )
        root = machine.facts(self.belief.root)
        return Situation(
            turn=self.turn,
            role=self.role,
            legal=tuple(legal),
            terminal=terminal,
            goals=tuple(machine.goal(state, role) for role in range(len(machine.roles))) if terminal else None,
            checkpoint=Checkpoint(self.belief.root_turn, root, self._disputed),
            repeatable=last is not None and not terminal and self._illegal(last, self.legal) is None,
            states=1 if self.sure else max(2, len(self.belief.weights)),
        )

    def observations(self) -> Iterator[Observation]:
        """Yields the machine's word on each state passed through since the last call."""
        path, self._unobserved = self._unobserved, []
        for state, before, joint_move, initial in path:
            if joint_move is None:
                yield observe(self.machine, state, initial=initial)
            else:
                yield observe(self.machine, state, Step(self.machine.facts(before), joint_move))

    # --- where the state is known

    def _follow_sure(self, joint_move: JointMove) -> list[tuple[JointMove, State]]:
        disputed = self._disputed
        culprit = self._illegal(joint_move, self.legal)
        if culprit is None:
            return [self._apply(joint_move)]
        if disputed is not None and (steps := self._apply_both(disputed, joint_move)):
            log.warning("turn %d: the joint move refused before is needed: both applied", self.turn)
            return steps
        role, move = self.machine.roles[culprit], joint_move[culprit]
        if self.belief.reconsider(Told(joint_move, None), self.budget):
            log.error("turn %d: %s is illegal for %s: the state was wrong", self.turn, write(move), write(role))
            self._look_around(joint_move)
            return []
        if self.belief.follow(Resumed(Told(joint_move, None), 1.0, least=1), self.budget):
            log.error(
                "turn %d: %s is illegal for %s, but not if messages were missed", self.turn, write(move), write(role)
            )
            self._look_around(joint_move)
            return []
        log.error("turn %d: %s is illegal for %s: not applied", self.turn, write(move), write(role))
        self._disputed = joint_move
        return []

    def _apply(self, joint_move: JointMove) -> tuple[JointMove, State]:
        state = self.machine.next(self.state, joint_move)
        told = Told(joint_move, None)
        self.belief.know(state, Resumed(told, 0.0) if self._taken_up else told)
        self._taken_up = False
        return self._pass_on(joint_move, state)

    def _pass_on(self, joint_move: JointMove, state: State) -> tuple[JointMove, State]:
        """Takes over the state after a joint move, the only one that was made."""
        before, self.state = self.state, state
        self._unobserved.append((state, before, joint_move, False))
        self._disputed = None
        self._last = joint_move
        self._legal = None
        self.belief.root_turn = self.turn
        return joint_move, state

    def _apply_both(self, disputed: JointMove, joint_move: JointMove) -> list[tuple[JointMove, State]]:
        try:
            between = self.machine.next(self.state, disputed)
            legal = [self.machine.legal(between, role) for role in range(len(self.machine.roles))]
        except GameError:
            return []
        if self._illegal(joint_move, legal) is not None:
            return []
        return [self._apply(disputed), self._apply(joint_move)]

    # --- where it is not, or may not be from now on

    def _follow_doubtful(self, received: Judged) -> list[tuple[JointMove, State]]:
        sure, before = self.sure, self.state
        told = Told(received.moves, received.answered)
        missed = received.missed or 0.0
        replaced = received.answered is not None and received.moves[self.role] != received.answered
        if sure and not missed:
            if not (replaced and self.belief.reconsider(told, self.budget)):
                return self._follow_sure(received.moves)
            log.warning("turn %d: another move was made for us: the state may have been wrong", self.turn)
            self._look_around(received.moves)
            return []
        self._taken_up = False
        if missed:
            log.warning("turn %d: after an interruption, about %.1f turns may be missing", self.turn, missed)
            fits = self.belief.follow(Resumed(told, missed), self.budget)
        else:
            fits = self.belief.follow(told, self.budget)
        fits = fits or self.belief.reconsider(told, self.budget)
        if not fits and not self.belief.follow(Resumed(told, 1.0, least=1), self.budget):
            moves = " ".join(map(write, received.moves))
            log.error("turn %d: %s is legal in no state that fits: not applied", self.turn, moves)
            return []
        after = self.belief.root
        legal = sure and self.sure and self._illegal(received.moves, self.legal) is None
        if legal and self.machine.next(before, received.moves) == after:
            return [self._pass_on(received.moves, after)]
        self._look_around(received.moves)
        return []

    def _follow_unseen(self, received: Unseen) -> None:
        percepts = None if received.percepts is None else frozenset(received.percepts)
        for hidden in (Hidden(received.own, percepts), Hidden(received.own, None), Hidden(None, None)):
            if self.belief.follow(hidden, self.budget, received.missed):
                self._look_around(None)
                return
            log.error("turn %d: no state fits what was seen", self.turn)

    def _look_around(self, joint_move: JointMove | None) -> None:
        """Takes over the belief's likeliest state."""
        self._disputed = None
        self._last = joint_move
        self._legal = None
        self.state = self.belief.likeliest
        if self.sure:
            log.info("turn %d: the state is known", self.turn)
            self._unobserved.append((self.state, None, None, False))
            self.belief.root_turn = self.turn

    @staticmethod
    def _illegal(joint_move: JointMove, legal: Sequence[Sequence[Term]]) -> int | None:
        """Returns the first role whose move is illegal, or None. A role without legal moves may do anything."""
        for role, (move, moves) in enumerate(zip(joint_move, legal, strict=True)):
            if moves and move not in moves:
                return role
        return None
