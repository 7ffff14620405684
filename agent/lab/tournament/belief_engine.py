"""An engine in a game of imperfect information: it knows what a player over HTTP would know."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

from agent.playing.belief_search import NAME as BELIEF_SEARCH
from agent.playing.belief_search import BeliefSearch
from agent.playing.messages import Checkpoint, Unseen
from agent.playing.reference import BUDGET, REFINING_SHARE, Reference
from agent.record.spelling import states_to_json
from agent.search.engine import Engine, Limit, Opinion, Report, StopFlag
from agent.search.leveled import LevelSearch
from agent.sheet import Sheet
from games.machine import State, StateMachine, Term
from games.perception import Perception


def within_percepts(engine: Engine, machine: StateMachine, role: int, sheet: Sheet) -> Engine:
    """Returns an engine that knows no more of a match than its role perceives: in a game of perfect information, the
    same."""
    return BeliefEngine(engine, machine, role, Perception(sheet.checked)) if sheet.imperfect else engine


class BeliefEngine(Engine):
    """Lets an engine think while its role knows the state, and a search over the possible states else.

    It is told joint moves and states as any engine, and takes the own move and the percepts from them.
    """

    def __init__(self, engine: Engine, machine: StateMachine, role: int, perception: Perception) -> None:
        self.name = f"{engine.name}, {BELIEF_SEARCH}"
        self.reason = engine.reason
        self.uses_start_clock = engine.uses_start_clock
        self._engine = engine
        self._playouts = engine.level.nodes if isinstance(engine, LevelSearch) else None
        self._machine = machine
        self._role = role
        self._perceive = partial(perception.percepts, role=role)

    def begin(self, state: State) -> None:
        """The state is one that all roles know."""
        self._facts = self._machine.facts(state)
        checkpoint = Checkpoint(states=states_to_json([(self._facts, 1.0)]))
        self._reference = Reference(self._machine, self._role, checkpoint, self._perceive)
        self._engine.begin(state)

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        percepts = self._perceive(self._facts, joint_move)
        self._facts = self._machine.facts(state)
        self._reference.follow(Unseen(joint_move[self._role], tuple(percepts)))
        if self._reference.sure:
            self._engine.begin(self._reference.state)

    def prepare(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        self._engine.prepare(stop, report, limit)

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        reference = self._reference
        if reference.sure:
            self._engine.think(stop, lambda opinion: report(_unproven(opinion)), limit)
            return
        end = time.monotonic() + REFINING_SHARE * min(BUDGET, limit.seconds or BUDGET)
        reference.refine(lambda: bool(stop[0]) or time.monotonic() > end)
        moves, _ = reference.belief.safest_moves(reference.budget)
        search = BeliefSearch(self._machine, self._role, list(reference.belief.weights.items()), moves)
        search.think(stop, report, limit.nodes or self._playouts)


def _unproven(opinion: Opinion) -> Opinion:
    """Returns the opinion without a proof: an engine's holds where all is seen to the end of the match."""
    return replace(opinion, score=None if opinion.score is None else opinion.score.estimate)
