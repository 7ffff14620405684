"""The reference state of a match: the state that follows from the manager's messages.

The manager's joint move is the truth, even if it differs from our answer. One with the wrong number of moves is not
applied. For an illegal one, three explanations are tried in this order: the refused joint move before it was meant
after all, and both are applied; PLAYs were missed before it; it is noise, and is not applied.

Where the state is not known, after missed PLAYs or in a game of imperfect information, the match is followed as the set
of states that fit (`agent.playing.belief`), until one is left.
"""

from __future__ import annotations

import logging
import pickle
import random
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b

from agent.playing.belief import Belief
from agent.playing.evidence import Hidden, Perceive, Resumed, Told
from agent.playing.messages import (
    MOST_FACTS,
    MOST_REPORT,
    MOST_SHOWN,
    Checkpoint,
    JointMove,
    Judged,
    Received,
    Situation,
    Unseen,
    count_turns,
)
from agent.playing.situation import (
    DIGEST_BYTES,
    KNOWN,
    SAMPLE,
    describe,
    facts_from_json,
    facts_to_json,
    illegal_role,
    legal_moves,
)
from games.machine import GameError, State, StateMachine, Term
from protocol.kif import write

log = logging.getLogger(__name__)

BUDGET = 1.0
"""Default seconds for finding the states that fit one message."""

BUDGET_SHARE = 0.08
"""Share of a turn for finding the states that fit a message, and again for their legal moves."""

REFINING_SHARE = 0.3
"""Share of a turn for finding further states that fit, after the first situation."""

LEAST_FACT = 4
"""Bytes of the shortest fact. Too many are not even written: other threads would wait for that."""

SAMPLES = (64, 16, 4)
"""States of a sample for the search; fewer where their facts are too many."""


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

        Raises `GameError` if the machine does not know the checkpoint's facts, `ValueError` if they cannot be read.
        """
        self.machine = machine
        self.role = role
        self.turn = checkpoint.turn
        self.budget = BUDGET
        """Seconds for finding the states that fit a message."""
        facts = checkpoint.facts
        self.state: State = machine.initial() if facts is None else machine.state(facts_from_json(facts))
        """The state; if in doubt, the likeliest one."""
        self.belief = Belief(machine, role, self.state, perceive, rng, clock)
        """The possible states."""
        self.belief.root_turn = self.turn
        self._taken_up = facts is not None
        """Whether this is the first message since the match was taken up: others may have been missed before it."""
        self._disputed = checkpoint.disputed
        self._last: JointMove | None = None
        self._legal: list[list[Term]] | None = None
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
            self._legal = legal_moves(self.machine, self.state)
        return self._legal

    def follow(self, received: Received) -> None:
        """Takes the next turn's message in."""
        self.turn += count_turns(received)
        sure = self.sure
        if isinstance(received, Unseen):
            self._follow_unseen(received)
        else:
            judged = received if isinstance(received, Judged) else Judged(received, None, None)
            roles = len(self.machine.roles)
            if len(judged.moves) != roles:
                log.error("turn %d: %d moves for %d roles: not applied", self.turn, len(judged.moves), roles)
            elif sure and not judged.missed:
                self._follow_sure(judged.moves, judged.answered)
            else:
                self._follow_doubtful(judged)
        if self.sure and not sure:
            log.info("turn %d: the state is known", self.turn)

    def refine(self, stopped: Callable[[], bool]) -> bool:
        """Looks for more states that fit, until it is stopped; returns whether it found any."""
        if self.sure:
            return False
        found = self.belief.refine(stopped)
        self.state = self.belief.likeliest
        self._legal = None
        return found

    def situation(self) -> Situation:
        """Returns the present situation, for the server process."""
        situation = describe(self.machine, self.state, self.role, self.turn, self.legal, self._last)
        checkpoint = self._checkpoint()
        if self.sure:
            facts = self.machine.facts(self.state)
            known = pickle.dumps((KNOWN, facts)) if len(facts) * LEAST_FACT <= MOST_REPORT else b""
            return replace(situation, checkpoint=checkpoint, state=known)
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
        sample = self._sample(legal)
        return replace(
            situation,
            digest=blake2b(sample, digest_size=DIGEST_BYTES).digest(),
            legal=tuple(legal[:MOST_SHOWN]),
            choices=len(legal),
            terminal=terminal,
            goals=situation.goals if terminal else None,
            repeatable=situation.repeatable and not terminal,
            checkpoint=checkpoint,
            states=max(2, len(self.belief.weights)),
            state=sample,
        )

    def _checkpoint(self) -> Checkpoint | None:
        """Returns the last known state, unless it has too many facts or they are nested too deeply."""
        root = self.machine.facts(self.belief.root)
        if len(root) * LEAST_FACT > MOST_FACTS:
            return None
        try:
            facts = facts_to_json(root)
            if len(facts) > MOST_FACTS:
                return None
            facts_from_json(facts)
        except (ValueError, RecursionError):
            return None
        return Checkpoint(self.belief.root_turn, facts, self._disputed)

    def _sample(self, legal: list[Term]) -> bytes:
        """Returns some of the possible states, for the search."""
        for count in SAMPLES:
            states = [(self.machine.facts(state), weight) for state, weight in self.belief.sample(count)]
            sample = pickle.dumps((SAMPLE, states, tuple(legal)))
            if len(sample) <= MOST_REPORT // 2:
                break
        return sample

    # --- where the state is known

    def _follow_sure(self, joint_move: JointMove, answered: Term | None) -> None:
        told = Told(joint_move, answered)
        if answered is not None and joint_move[self.role] != answered and self.belief.reconsider(told, self.budget):
            log.warning("turn %d: another move was made for us: the state may have been wrong", self.turn)
            self._look_around(joint_move)
            return
        disputed = self._disputed
        culprit = illegal_role(joint_move, self.legal)
        if culprit is None:
            self._apply(joint_move)
            return
        if disputed is not None and self._apply_both(disputed, joint_move):
            log.warning("turn %d: the joint move refused before is needed: both applied", self.turn)
            return
        role, move = self.machine.roles[culprit], joint_move[culprit]
        told = Told(joint_move, None)
        if self.belief.reconsider(told, self.budget):
            log.error("turn %d: %s is illegal for %s: the state was wrong", self.turn, write(move), write(role))
            self._look_around(joint_move)
        elif self.belief.follow(Resumed(told, 1.0, least=1), self.budget):
            log.error(
                "turn %d: %s is illegal for %s, but not if messages were missed", self.turn, write(move), write(role)
            )
            self._look_around(joint_move)
        else:
            log.error("turn %d: %s is illegal for %s: not applied", self.turn, write(move), write(role))
            self._disputed = joint_move

    def _apply(self, joint_move: JointMove) -> None:
        state = self.machine.next(self.state, joint_move)
        told = Told(joint_move, None)
        self.belief.know(state, Resumed(told, 0.0) if self._taken_up else told)
        self._taken_up = False
        self._look_around(joint_move)

    def _apply_both(self, disputed: JointMove, joint_move: JointMove) -> bool:
        """Applies two joint moves if both fit; returns whether they do."""
        try:
            between = self.machine.next(self.state, disputed)
            legal = legal_moves(self.machine, between)
        except GameError:
            return False
        if illegal_role(joint_move, legal) is not None:
            return False
        self._apply(disputed)
        self._apply(joint_move)
        return True

    # --- where it is not, or may not be from now on

    def _follow_doubtful(self, received: Judged) -> None:
        told = Told(received.moves, received.answered)
        self._taken_up = False
        if received.missed:
            log.warning("turn %d: after an interruption, about %.1f turns may be missing", self.turn, received.missed)
        evidence = Resumed(told, received.missed) if received.missed else told
        if not (
            self.belief.follow(evidence, self.budget)
            or self.belief.reconsider(told, self.budget)
            or self.belief.follow(Resumed(told, 1.0, least=1), self.budget)
        ):
            moves = " ".join(map(write, received.moves))
            log.error("turn %d: %s is legal in no state that fits: not applied", self.turn, moves)
            return
        self._look_around(received.moves)

    def _follow_unseen(self, received: Unseen) -> None:
        percepts = None if received.percepts is None else frozenset(received.percepts)
        for hidden in (Hidden(received.own, percepts), Hidden(received.own, None), Hidden(None, None)):
            if self.belief.follow(hidden, self.budget, received.missed):
                self._look_around(None)
                return
            log.error("turn %d: no state fits what was seen", self.turn)

    def _look_around(self, joint_move: JointMove | None) -> None:
        """Takes over the belief's likeliest state, after a joint move; None if that is not known."""
        self._disputed = None
        self._last = joint_move
        self._legal = None
        self.state = self.belief.likeliest
        if self.sure:
            self.belief.root_turn = self.turn
