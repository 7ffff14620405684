"""The reference state of a match: the state that follows from the manager's messages.

The manager's joint move is the truth, even if it differs from our answer. One with the wrong number of moves is not
applied. For an illegal one, three explanations are tried in this order: the refused joint move before it was meant
after all, and both are applied; PLAYs were missed before it; it is noise, and is not applied.

Where the state is not known, after missed PLAYs or in a game of imperfect information, the match is followed as the set
of states that fit (`agent.playing.belief`), until one is left.
"""

from __future__ import annotations

import contextlib
import logging
import random
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b

from agent.playing.belief import Belief, Weights
from agent.playing.evidence import ANY_MISSED, NONE_MISSED, SOME_MISSED, Hidden, Perceive, Told
from agent.playing.messages import (
    MOST_FACTS,
    MOST_SHOWN,
    MOST_STATES,
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
    describe,
    illegal_role,
    legal_moves,
)
from agent.record.spelling import states_from_json, states_to_json
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
"""States of a sample; fewer where their facts are too many for the journal."""


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
        weights: Weights = {machine.initial(): 1.0}
        if checkpoint.states is not None:
            weights = {machine.state(facts): weight for facts, weight in states_from_json(checkpoint.states)}
        self.belief = Belief(machine, role, weights, perceive, rng, clock)
        """The possible states."""
        self.state: State = self.belief.likeliest
        """The state; if in doubt, the likeliest one."""
        self._taken_up = checkpoint.states is not None
        """Whether this is the first message since the match was taken up: others may have been missed before it."""
        self._disputed = checkpoint.disputed
        self._last: JointMove | None = None
        for received in checkpoint.since:
            self.budget = BUDGET / len(checkpoint.since)
            self.follow(received)
        self.budget = BUDGET

    @property
    def sure(self) -> bool:
        """Whether the state is known."""
        return self.belief.sure

    @property
    def legal(self) -> list[list[Term]]:
        """Legal moves of every role."""
        return self.belief.legal(self.state)

    def follow(self, received: Received) -> None:
        """Takes the next turn's message in."""
        self.turn += count_turns(received)
        sure = self.sure
        if isinstance(received, Unseen):
            self._follow_unseen(received)
        else:
            judged = received if isinstance(received, Judged) else Judged(received)
            self._follow_told(judged)
        self._taken_up = False
        if self.sure and not sure:
            log.info("turn %d: the state is known", self.turn)

    def refine(self, stopped: Callable[[], bool]) -> bool:
        """Looks for more states that fit, until it is stopped; returns whether it found any."""
        found = self.belief.refine(stopped)
        self.state = self.belief.likeliest
        return found

    def situation(self) -> Situation:
        """Returns the present situation, for the server process."""
        situation = describe(self.machine, self.state, self.role, self.turn, self.legal, self._last)
        situation = replace(situation, disputed=self._disputed, possible=self._possible())
        if self.sure:
            return situation
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
        told = b"%b %d %a" % (situation.possible, self.turn, legal)
        return replace(
            situation,
            digest=blake2b(told, digest_size=DIGEST_BYTES).digest(),
            legal=tuple(legal[:MOST_SHOWN]),
            choices=len(legal),
            terminal=terminal,
            goals=situation.goals if terminal else None,
            repeatable=situation.repeatable and not terminal,
            states=max(2, len(self.belief.weights)),
        )

    def _possible(self) -> bytes:
        """Returns the state, or some of the possible ones, as JSON; nothing where they have too many facts, or facts
        that are nested too deeply."""
        for count in SAMPLES:
            states = [(self.machine.facts(state), weight) for state, weight in self.belief.sample(count)]
            if sum(len(facts) for facts, _ in states) * LEAST_FACT > MOST_STATES:
                continue
            possible = states_to_json(states)
            if len(possible) <= (MOST_STATES if len(states) <= SAMPLES[-1] else MOST_FACTS):
                with contextlib.suppress(ValueError, RecursionError):
                    states_from_json(possible)
                    return possible
            if len(states) <= SAMPLES[-1]:
                # There are no fewer.
                break
        return b""

    # --- following

    def _follow_told(self, judged: Judged) -> None:
        moves = judged.moves
        if len(moves) != len(self.machine.roles):
            log.error("turn %d: %d moves for %d roles: not applied", self.turn, len(moves), len(self.machine.roles))
            return
        if judged.interrupted:
            log.warning("turn %d: after an interruption, turns may be missing", self.turn)
        missed = ANY_MISSED if judged.interrupted else NONE_MISSED
        explanation = self._explain(Told(moves, judged.answered, missed, judged.interrupted or self._taken_up))
        if explanation is None:
            log.error("turn %d: %s: not applied", self.turn, self._fault(moves))
            self._disputed = moves if self.sure else None
            return
        if explanation:
            log.error("turn %d: %s: %s", self.turn, self._fault(moves), explanation)
        self._look_around(moves)

    def _explain(self, told: Told) -> str | None:
        """Takes a joint move in, by the first explanation that fits; returns it, or None if there is none."""
        belief, bare = self.belief, Told(told.moves)
        replaced = told.answered not in (None, told.moves[self.role])
        if self.sure and replaced and not told.outage and belief.reconsider(told, self.budget):
            return "it was made for us, and the state may have been wrong"
        if belief.follow([told], self.budget):
            return ""
        if self.sure and self._disputed is not None and self._apply_both(self._disputed, told):
            return "the joint move refused before was needed, and is applied"
        if belief.reconsider(bare, self.budget):
            return "the state was wrong"
        if belief.follow([replace(bare, missed=SOME_MISSED, outage=True)], self.budget):
            return "messages were missed"
        return None

    def _apply_both(self, disputed: JointMove, told: Told) -> bool:
        """Applies two joint moves if the second one is legal then; returns whether it is."""
        try:
            between = self.machine.next(self.state, disputed)
            fits = illegal_role(told.moves, legal_moves(self.machine, between)) is None
        except GameError:
            return False
        if fits:
            self.belief.begin({between: 1.0})
            self.belief.follow([told], self.budget)
        return fits

    def _fault(self, moves: JointMove) -> str:
        """Returns a description of a joint move, with the role whose move is illegal."""
        culprit = illegal_role(moves, self.legal) if self.sure else None
        if culprit is None:
            return " ".join(map(write, moves))
        return f"{write(moves[culprit])} is illegal for {write(self.machine.roles[culprit])}"

    def _follow_unseen(self, received: Unseen) -> None:
        percepts = None if received.percepts is None else frozenset(received.percepts)
        missed = [Hidden()] * received.missed
        for hidden in (Hidden(received.own, percepts), Hidden(received.own), Hidden()):
            if self.belief.follow([*missed, hidden], self.budget):
                self._look_around(None)
                return
            log.error("turn %d: no state fits what was seen", self.turn)

    def _look_around(self, joint_move: JointMove | None) -> None:
        """Takes over the belief's likeliest state, after a joint move; None if that is not known."""
        self._disputed = None
        self._last = joint_move
        self.state = self.belief.likeliest
