"""Matches in which the player misses some PLAYs, and the cost: illegal moves, and turns in doubt.

Manager, players and time are simulated around the worker's `Reference`, without server, engine or clock: a match
depends on its seed alone.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from agent.playing.messages import Checkpoint, JointMove, Judged, Situation
from agent.playing.reference import Reference
from agent.serving.history import LONG
from games.machine import NO_MOVE, State, StateMachine, Term, points

PLAY_CLOCK = 10.0
START_CLOCK = 30.0
"""Seconds of the simulated matches."""

QUICK = 0.05
"""Seconds of a turn without a choice."""

QUERY_SECONDS = 1e-4
"""Simulated cost of a query of the rules: about that of a circuit, with its list of moves."""

REFINING_SECONDS = 1.0
"""Time of the search for further states in each doubtful turn; a worker has more where the clock is 10 s."""

BUDGET = 0.25
"""Time for each message (see `agent.playing.reference.BUDGET`)."""

MOST_MISSED = 3
"""Most PLAYs that are missed in the gap. Where it is none, all doubts are needless."""

GREEDY = 0.5
"""Share of all moves that are chosen by looking one ply ahead; others are random."""

CRASHED_THINKING = 0.25
"""Share of gaps that begin before the last PLAY is answered."""

LONGEST_OPENING = 30
"""Joint moves before the gap, at most; and at most half of a random match."""


@dataclass
class GapRecord:
    """One match with a gap."""

    seed: int
    missed: int
    """Number of missed PLAYs."""
    role: int
    turns: int = 0
    """Own turns with a choice, after the gap."""
    doubtful: int = 0
    """Those in which the state was not known."""
    illegal: int = 0
    """Those in which an illegal move was sent."""
    risk: float = 0.0
    """Expected number of illegal moves: sum of the probabilities, in those turns, that the move was illegal."""
    sure_after: int | None = None
    """Messages after the gap until the state was known for good; None if it was not by the end of the match."""
    messages: int = 0
    """Messages after the gap."""
    mistaken: int = 0
    """Messages after which a wrong state was taken to be certain."""
    lost: int = 0
    """Messages after which the state was not among the possible ones."""
    causes: list[str] = field(default_factory=list)
    """Cause of each illegal move."""


class Metered(StateMachine):
    """A machine that counts its queries, for the clock of a simulation."""

    def __init__(self, machine: StateMachine) -> None:
        self.machine = machine
        self.roles = machine.roles
        self.queries = 0

    def now(self) -> float:
        """Returns the time in seconds, as if only queries took time."""
        return self.queries * QUERY_SECONDS

    def initial(self) -> State:
        return self.machine.initial()

    def legal(self, state: State, role: int) -> list[Term]:
        self.queries += 1
        return self.machine.legal(state, role)

    def next(self, state: State, joint_move: Sequence[Term]) -> State:
        self.queries += 1
        return self.machine.next(state, joint_move)

    def terminal(self, state: State) -> bool:
        return self.machine.terminal(state)

    def goal_values(self, state: State, role: int) -> list[int]:
        return self.machine.goal_values(state, role)

    def facts(self, state: State) -> frozenset[Term]:
        return self.machine.facts(state)

    def state(self, facts: Iterable[Term]) -> State:
        return self.machine.state(facts)


class _Agent:
    """Our side of a match: server process and worker."""

    def __init__(self, machine: StateMachine, role: int, rng: random.Random) -> None:
        self._machine = Metered(machine)
        self._role = role
        self._rng = rng
        self._heard = 0.0
        self._outage = False
        self.situation: Situation
        self._take_up(Checkpoint())
        self.last: JointMove | None = None
        self.answered: Term | None = None

    def hear(self, moves: JointMove, at: float) -> None:
        """Receives a PLAY, as `agent.serving.match` does."""
        if moves == self.last and not self._made_again(moves):
            return
        replaced = self.answered is not None and moves[self._role] != self.answered
        passed = at - self._heard - (0 if self.reference.turn else START_CLOCK)
        interrupted = self._outage and (replaced or passed > LONG * PLAY_CLOCK)
        judged = interrupted or replaced or self.situation.states > 1
        self.reference.follow(Judged(moves, self.answered, interrupted) if judged else moves)
        self._outage = False
        self.situation = self.reference.situation()
        self._heard, self.last, self.answered = at, moves, None

    def _made_again(self, moves: JointMove) -> bool:
        if not self.situation.repeatable:
            return False
        if self.answered is None:
            return self._outage
        return moves[self._role] == self.answered

    def restart(self, at: float) -> None:
        """Goes on with the match like a new server."""
        assert self.situation.checkpoint is not None
        self._take_up(self.situation.checkpoint)
        self._outage = True

    def think(self, seconds: float) -> None:
        """Looks for further possible states."""
        end = self._machine.now() + seconds
        if self.reference.refine(lambda: self._machine.now() > end):
            self.situation = self.reference.situation()

    def _take_up(self, checkpoint: Checkpoint) -> None:
        self.reference = Reference(self._machine, self._role, checkpoint, None, self._rng, self._machine.now)
        self.reference.budget = BUDGET
        self.situation = self.reference.situation()


def play_match(machine: StateMachine, seed: int) -> GapRecord | None:
    """Plays a match with a gap; returns None if it ended before or with the gap."""
    return _Match(machine, seed).play()


class _Match:
    def __init__(self, machine: StateMachine, seed: int) -> None:
        self.machine = machine
        self.rng = rng = random.Random(seed)
        self.role = rng.randrange(len(machine.roles))
        self.record = GapRecord(seed, rng.randint(0, MOST_MISSED), self.role)
        self.timeouts = rng.random() < 0.5
        """Whether the manager waits for a player that is gone, rather than noticing at once."""
        self.thinkers = not self.timeouts or rng.random() < 0.5
        """Whether the others take time to move: a server cannot start again within a turn in which nobody is waited
        for."""
        self.first = rng.random() < 0.5
        """Whether the manager replaces moves by the first legal one rather than by a random one."""
        self.gap_at = rng.randint(1, max(2, min(LONGEST_OPENING, self._random_length() // 2)))
        self.state = machine.initial()
        self.agent = _Agent(machine, self.role, random.Random(seed))
        self.now = START_CLOCK
        self.moves: JointMove = ()

    def play(self) -> GapRecord | None:
        for _ in range(self.gap_at):
            self._turn(self._answer())
            if self.machine.terminal(self.state):
                return None
            self.agent.hear(self.moves, self.now)
        crashed = self.rng.random() < CRASHED_THINKING
        if crashed:
            self.agent.answered = None
        self._turn(None if crashed else self._answer())
        for _ in range(self.record.missed):
            if self.machine.terminal(self.state):
                return None
            self._turn(None)
        if self.machine.terminal(self.state):
            return None
        self.agent.restart(self.now)
        while not self.machine.terminal(self.state):
            self.agent.hear(self.moves, self.now)
            self._note()
            self._turn(self._answer())
        return self.record

    def _note(self) -> None:
        record, reference = self.record, self.agent.reference
        record.messages += 1
        if reference.sure and reference.state == self.state:
            if record.sure_after is None:
                record.sure_after = record.messages - 1
        else:
            record.sure_after = None
            record.mistaken += reference.sure
        record.lost += self.state not in reference.belief.weights

    def _answer(self) -> Term | None:
        """Returns our move; None if it is illegal."""
        agent = self.agent
        agent.think(REFINING_SECONDS)
        legal = self.machine.legal(self.state, self.role)
        options = list(agent.situation.legal)
        move = self._choose(agent.reference.state, self.role, options) if options else NO_MOVE
        agent.answered = move
        record, reference, belief = self.record, agent.reference, agent.reference.belief
        support = 1.0 if reference.sure else dict(belief.moves(math.inf)).get(move, 1.0)
        if record.messages:
            record.turns += len(legal) > 1
            record.doubtful += len(legal) > 1 and not reference.sure
            record.risk += 1 - support
        if not legal or move in legal:
            return move
        record.illegal += 1
        kind = "possible" if self.state in belief.weights else "not found"
        states = f"{'all' if belief.exhaustive else 'a sample of'} {len(belief.weights)} states"
        cause = "a wrong state was taken for sure" if reference.sure else f"state {kind} among {states}"
        record.causes.append(f"message {record.messages}: {cause}; the move legal with {support:.4f}")
        return None

    def _turn(self, ours: Term | None) -> None:
        """Plays a joint move; the manager makes our move where `ours` is None."""
        joint_move: list[Term] = []
        times = [QUICK]
        for role, legal in enumerate(self._legal(self.state)):
            if role != self.role:
                joint_move.append(self._choose(self.state, role, legal))
                if self.thinkers and len(legal) > 1:
                    times.append(PLAY_CLOCK * self.rng.uniform(0.3, 0.95))
            elif ours is None:
                joint_move.append(legal[0] if self.first else self.rng.choice(legal))
                times.append(PLAY_CLOCK + 1 if self.timeouts else QUICK)
            else:
                joint_move.append(ours)
                times.append(0.95 * PLAY_CLOCK if len(legal) > 1 else QUICK)
        self.now += max(times)
        self.moves = tuple(joint_move)
        self.state = self.machine.next(self.state, self.moves)

    def _legal(self, state: State) -> list[list[Term]]:
        return [self.machine.legal(state, role) or [NO_MOVE] for role in range(len(self.machine.roles))]

    def _choose(self, state: State, role: int, legal: Sequence[Term]) -> Term:
        if len(legal) == 1 or self.rng.random() >= GREEDY:
            return self.rng.choice(legal)
        return max(legal, key=lambda move: self._look_ahead(state, role, move))

    def _look_ahead(self, state: State, role: int, move: Term) -> float:
        """Returns a value of a move: by the goal, or by the moves that it leaves the others."""
        machine = self.machine
        joint_move = [move if other == role else legal[0] for other, legal in enumerate(self._legal(state))]
        after = machine.next(state, joint_move)
        if machine.terminal(after):
            return 1000.0 * (points(machine.goal(after, role)) - 50)
        others = sum(len(machine.legal(after, other)) for other in range(len(machine.roles)) if other != role)
        return self.rng.random() - others

    def _random_length(self) -> int:
        state, length = self.machine.initial(), 0
        while not self.machine.terminal(state):
            state = self.machine.next(state, [self.rng.choice(moves) for moves in self._legal(state)])
            length += 1
        return length


def as_json(records: Sequence[GapRecord]) -> dict[str, object]:
    """Returns the figures of a game's matches."""
    sure = sorted(record.sure_after for record in records if record.sure_after is not None)
    return {
        "matches": len(records),
        "illegal": sum(record.illegal for record in records),
        "matches_with_illegal": sum(record.illegal > 0 for record in records),
        "risk": round(sum(record.risk for record in records), 2),
        "turns": sum(record.turns for record in records),
        "doubtful_turns": sum(record.doubtful for record in records),
        "sure_again": len(sure),
        "median_messages_until_sure": sure[len(sure) // 2] if sure else None,
        "mistaken_messages": sum(record.mistaken for record in records),
        "lost_messages": sum(record.lost for record in records),
        "records": [asdict(record) for record in records],
    }
