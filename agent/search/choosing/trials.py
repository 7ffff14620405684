"""Matches of alpha-beta against tree search on very short clocks, to choose one of them for a game."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random

from agent.search.engine import Engine, Limit, StopFlag, consider, limited
from agent.search.pvs.survey import MAX_PLIES, share_of_points
from agent.search.tree.engine import TreeSearch
from agent.search.tree.move_averages import DRAWS
from games.gdl.running.machine import CircuitMachine
from games.machine import State, StateMachine, Term, points

OPENING = 4
"""Limit on random plies at the start of a match."""
TRIAL_MEMORY = 1 << 26
"""Bytes of memory for each engine."""
TRIAL_SECONDS, LEAST_SECONDS = 0.04, 0.02
"""Time for a move, and the least where matches are long and time is short. Tree search needs it: in amazons of 10x10
cells it won 7 of 8 matches at 0.02 s, all of 16 at 0.04 s (see docs/experiments.md)."""
PLAYOUTS, MOST_SECONDS = 100, 0.25
"""Playouts that tree search needs for each legal move, and limit on the time for a move to get them. With fewer, trial
matches mislead (gomoku, see docs/experiments.md)."""
MATCH_SECONDS = 5.0
"""Time for a move above which tree search is too slow for the real match, too: then a hurried match tells enough."""
SPEED_SECONDS, SPEED_SHARE = 0.2, 0.2
"""Time for measuring tree search's speed, and its limit as a share of the time for trials."""
SET_UP_SHARE = 0.5
"""Share of that before playouts are counted: a search learns the game first, once in a match. Otherwise breakthrough
looked up to four times as slow."""
MATCHES_IN_TIME = 2
"""Matches to finish in the time."""
CLEAR_LEAD = 2.0
"""Lead in points, either way, that decides before the match begins: learning or searching is then a better use of
time."""
LEAST_LEAD = 0.5
"""Lead in points that alpha-beta needs: ties say nothing where the same role always wins, nor do matches that have not
ended (see docs/experiments.md)."""
DECISIVE_LEAD, MANY_TRIALS = 4.0, 12
"""Lead in points, either way, and number of matches that end the trials during a match: between equals the choice
matters little."""
MOST_REMEMBERED = 20
"""Limit on trial matches of earlier preparations that count: their evaluations were worse."""


LEARNING = 0.6
"""Share of the time for measuring the gain of move averages before results count: a search first learns them."""


class TrialMatch:
    """A match of two engines that can be interrupted and continued."""

    def __init__(
        self, machine: StateMachine, root: State, engines: tuple[Engine, Engine], seconds: float, random: Random
    ) -> None:
        """Begins at `root`, after some random plies. Engine i plays role i; it thinks for that many seconds a move, and
        not on the opponent's time."""
        self._machine, self._engines, self._seconds = machine, engines, seconds
        self._state = root
        self._plies = 0
        self.void = False
        """Whether there will be no result: the match was over before an engine had to think."""
        for _ in range(random.randint(0, OPENING)):
            state = machine.next(self._state, [random.choice(machine.legal(self._state, role)) for role in (0, 1)])
            if machine.terminal(state) or not all(machine.legal(state, role) for role in (0, 1)):
                self.void = True
                return
            self._state = state
        for engine in engines:
            engine.begin(self._state)

    def play(self, stop: StopFlag) -> float | None:
        """Plays to the end; returns the first engine's share of the points, 0..1.

        None if it is stopped before, or `void`.
        """
        machine = self._machine
        while not self.void and self._plies < MAX_PLIES:
            joint: list[Term] = []
            for role, engine in enumerate(self._engines):
                moves = machine.legal(self._state, role)
                if not moves:
                    self.void = True
                    return None
                joint.append(consider(engine, moves, Limit(self._seconds), stop).move if len(moves) > 1 else moves[0])
                if stop[0]:
                    return None
            self._state = machine.next(self._state, joint)
            self._plies += 1
            if machine.terminal(self._state):
                break
            for engine in self._engines:
                engine.advance(tuple(joint), self._state)
        if self.void:
            return None
        # Longer matches count as they stand.
        first, second = (machine.goal_scale.worth(points(machine.goal(self._state, role))) for role in (0, 1))
        return share_of_points(first, second)


class Trials:
    """The matches of a game and their result; interrupted ones continue later."""

    def __init__(
        self,
        machine: CircuitMachine,
        make_alpha_beta: Callable[[int], Engine],
        make_tree: Callable[[int, Random], TreeSearch],
        *,
        threads: int,
        random: Random,
    ) -> None:
        """Plays one match per thread at once. `make_alpha_beta` and `make_tree` make the searches for a role, within
        `TRIAL_MEMORY`."""
        self._machine, self._threads, self._random = machine, threads, random
        self._make_alpha_beta, self._make_tree = make_alpha_beta, make_tree
        self.points, self.matches = 0.0, 0
        """Points of alpha-beta, and number of matches."""
        self.plies = 1.0
        """Expected length of a match."""
        self.branching = 1.0
        """Mean number of moves where there is a choice."""
        self._wanted = TRIAL_SECONDS
        """Time for a move that tree search needs."""
        self._measured = False
        """Whether `_wanted` was measured."""
        self.too_slow = False
        """Whether tree search will probably have less time than it needs in the real match, too."""
        self._seconds = 0.0
        """Time for a move in new matches."""
        self._begun = 0
        self._lock = threading.Lock()
        self._interrupted: list[tuple[int, TrialMatch]] = []
        """Matches to continue, with the role of alpha-beta."""

    @property
    def lead(self) -> float:
        """Points by which alpha-beta leads."""
        return 2 * self.points - self.matches

    @property
    def tally(self) -> tuple[float, int]:
        """Points of alpha-beta, and number of matches."""
        return self.points, self.matches

    @property
    def lost(self) -> bool:
        """Whether tree search seems better."""
        return self.lead < 0

    @property
    def needed_lead(self) -> float:
        """Points by which alpha-beta must lead to seem better; none as long as there was no time to find out."""
        return LEAST_LEAD if self.matches or (self._measured and not self.too_slow) else 0.0

    @property
    def undecided(self) -> bool:
        """Whether more matches may show which search is better."""
        return self.matches < MANY_TRIALS and abs(self.lead) < DECISIVE_LEAD

    def recall(self, earlier: tuple[float, int]) -> None:
        """Counts the `tally` of earlier preparations of the game."""
        points, matches = earlier
        self.matches = min(matches, MOST_REMEMBERED)
        self.points = points * self.matches / max(1, matches)

    def play(self, end: float, stop: StopFlag, lead: float) -> None:
        """Plays on all threads, alpha-beta alternating between the roles, until `end` (`time.monotonic`), `stop`, or
        a lead of that many points either way. Raises the errors of engines."""
        if stop[0] or abs(self.lead) >= lead or time.monotonic() >= end:
            return
        self._measure(end, stop)
        if stop[0]:
            return
        left = end - time.monotonic()
        one_after_the_other = -(-MATCHES_IN_TIME // self._threads)
        self._seconds = min(self._wanted, max(LEAST_SECONDS, left / (one_after_the_other * self.plies)))
        with limited(stop, left) as halt, ThreadPoolExecutor(self._threads, "trial") as pool:
            for done in [pool.submit(self._play_some, halt, lead) for _ in range(self._threads)]:
                done.result()

    def _play_some(self, stop: StopFlag, lead: float) -> None:
        while not stop[0]:
            with self._lock:
                if self.matches >= MANY_TRIALS or abs(self.lead) >= lead:
                    break
                role, match = self._interrupted.pop() if self._interrupted else self._begin()
            share = match.play(stop)
            with self._lock:
                if share is not None:
                    self.points += share if role == 0 else 1 - share
                    self.matches += 1
                elif not match.void:
                    self._interrupted.append((role, match))
                    break

    def _begin(self) -> tuple[int, TrialMatch]:
        """A new match, with the role of alpha-beta."""
        role, random = self._begun % 2, Random(self._random.getrandbits(63))
        self._begun += 1
        alpha_beta, tree = self._make_alpha_beta(role), self._make_tree(1 - role, random)
        engines = (alpha_beta, tree) if role == 0 else (tree, alpha_beta)
        return role, TrialMatch(self._machine, self._machine.initial(), engines, self._seconds, random)

    def _measure(self, end: float, stop: StopFlag) -> None:
        """Measures once the time for a move that tree search needs, within a share of the time until `end`."""
        if self._measured:
            return
        seconds = min(SPEED_SECONDS, SPEED_SHARE * (end - time.monotonic()))
        tree = self._make_tree(0, self._random)
        tree.begin(self._machine.initial())
        # The move does not matter.
        consider(tree, [()], Limit(SET_UP_SHARE * seconds), stop)
        begin, before = time.monotonic(), tree.playouts
        consider(tree, [()], Limit((1.0 - SET_UP_SHARE) * seconds), stop)
        wanted = PLAYOUTS * self.branching * (time.monotonic() - begin) / max(1, tree.playouts - before)
        if not stop[0]:
            self._wanted = min(MOST_SECONDS, max(TRIAL_SECONDS, wanted))
            self.too_slow = wanted > MATCH_SECONDS
            self._measured = True


def gain_by_averages(
    make_tree: Callable[[int, Random], TreeSearch], state: State, seconds: float, stop: StopFlag, random: Random
) -> float | None:
    """Returns the share of all points, -1..1, by which a role is ahead on average if it alone chooses by move averages.

    Where one role gains much so, playouts in which both choose so are mostly better. Searches `state`, a game of two
    roles, once for each role, for that many seconds together. None if it is stopped, or a search had no results.
    """
    ahead = 0.0
    for role in (0, 1):
        tree = make_tree(0, random)
        tree.draw(DRAWS, only=role)
        tree.begin(state)
        counts, totals = [], []
        for share in (LEARNING, 1.0 - LEARNING):
            # The move does not matter.
            consider(tree, [()], Limit(share * seconds / 2), stop)
            count, total = tree.results()
            counts.append(count)
            totals.append(total)
        if stop[0] or counts[1] == counts[0]:
            return None
        goals = (totals[1] - totals[0]) / (counts[1] - counts[0])
        ahead += (goals[role] - goals[1 - role]) / 2
    return float(ahead)
