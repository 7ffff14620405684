"""Matches of tree search against itself, to find out whether a game wants much more exploration than most.

In a game of placing stones in squares a player may place a few blockers and goes on to move. Tree search placed one
after the other, and had none left when it needed them: it got 0.12 of the points against another one (16 matches at
0.5 s a move), with 4 times the exploration 0.81, with 16 times 0.91 (26 and 22). In fifteen other games 4 times as much
got 0.39 against the usual (150 matches at 0.25 s a move).

A sequential test (Wald 1945): most games are told by the first two matches.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from random import Random

from agent.search.engine import StopFlag
from agent.search.pvs.trial import TrialMatch, trial_tree
from games.gdl.running.machine import CircuitMachine

MORE = 8.0
"""How many times the usual exploration. Set by hand: at 0.04 s a move four times as much got 0.69 (35 matches) of the
usual one in the game above and 0.25 to 0.64 in 15 others (10 to 35 each); 16 times as much 0.70 (10), and 0 to 0.33 in
seven others (6 to 10 each)."""
LEAD, MOST_LEAD, MOST_BEHIND = 2.0, 5.0, 2.0
"""Points that much exploration has to be ahead to be used as long as no more is known, and after how many, ahead or
behind, no more matches are played. Set by hand: what gets 0.25 of the points wins the first two matches in 6 % of all
tests, and most games are told by then."""
MANY_MATCHES = 16
"""How many are played at most. Set by hand; not tuned."""


class ExplorationTrials:
    """The matches of a game for two players, and how they went."""

    def __init__(self, machine: CircuitMachine, *, threads: int, random: Random) -> None:
        """Plays so many matches at once."""
        self._machine, self._threads, self._random = machine, threads, random
        self.points, self.matches = 0.0, 0
        """What much exploration got, and from how many matches."""
        self._begun = 0
        self._lock = threading.Lock()
        self._interrupted: list[tuple[int, TrialMatch]] = []
        """Matches that are to go on, with the role that explores much."""

    @property
    def lead(self) -> float:
        """Points that much exploration is ahead."""
        return 2 * self.points - self.matches

    @property
    def factor(self) -> float:
        """How many times the usual exploration the game wants, as far as is known."""
        return MORE if self.lead >= LEAD else 1.0

    @property
    def undecided(self) -> bool:
        """Whether more matches may tell more."""
        return self.matches < MANY_MATCHES and -MOST_BEHIND < self.lead < MOST_LEAD

    def play(self, seconds: float, stop: StopFlag) -> None:
        """Plays on all cores, so many seconds a move, until `stop` or until the test is decided."""
        with ThreadPoolExecutor(self._threads, "exploring") as pool:
            for done in [pool.submit(self._play_some, seconds, stop) for _ in range(self._threads)]:
                done.result()

    def _play_some(self, seconds: float, stop: StopFlag) -> None:
        while not stop[0] and self.undecided:
            with self._lock:
                role, match = self._interrupted.pop() if self._interrupted else self._begin(seconds)
            share = match.play(stop)
            with self._lock:
                if share is not None:
                    self.points += share if role == 0 else 1 - share
                    self.matches += 1
                elif not match.void:
                    self._interrupted.append((role, match))

    def _begin(self, seconds: float) -> tuple[int, TrialMatch]:
        """A match in which this role explores much; both roles do so by turns."""
        machine, random = self._machine, Random(self._random.getrandbits(63))
        role = self._begun % 2
        self._begun += 1
        first, second = (trial_tree(machine, i, random) for i in (0, 1))
        (second if role else first).explore(MORE)
        return role, TrialMatch(machine, machine.initial(), (first, second), seconds, random)
