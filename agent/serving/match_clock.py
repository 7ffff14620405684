"""Deadlines of one match's answers, and statistics of its turns."""

from __future__ import annotations

from agent.serving.clock import Clock, Deadline, Delays, Instant, now
from agent.serving.statistics import Statistics
from agent.serving.turn import MatchTurn


class MatchClock:
    """Access of one match to the clock and the statistics that all matches share."""

    def __init__(self, clock: Clock, statistics: Statistics) -> None:
        self._clock = clock
        self._statistics = statistics
        self._round_trips = Delays()
        self._playouts = 0
        """The engine's last count."""
        statistics.matches += 1

    @property
    def margin(self) -> float:
        """Least number of seconds kept back from each clock."""
        return self._clock.margin

    def start(self, received: Instant, seconds: float) -> Deadline:
        """Returns the deadline of the reply to a START."""
        return self._clock.deadline(received, seconds)

    def play(self, received: Instant, seconds: float, round_trip: float) -> Deadline:
        """Returns the deadline of the reply to a PLAY; `round_trip` is in seconds, to the manager and back."""
        self._round_trips.add(round_trip)
        deadline = self._clock.deadline(received, seconds, self._round_trips.high)
        self._statistics.round_trip = round_trip
        self._statistics.margin = received + seconds - deadline.at
        return deadline

    def woke(self, deadline: Deadline, begun: Instant) -> None:
        """Notes the delay of a wait for the deadline that began before it."""
        if begun < deadline.at < now():
            self._clock.lateness.add(now() - deadline.at)

    def replied(self, deadline: Deadline) -> None:
        """Counts the delay of a reply."""
        self._statistics.lateness.add(now() - deadline.at)

    def lost_process(self) -> None:
        """Counts a process that died or hung."""
        self._statistics.workers_lost += 1

    def count(self, turn: MatchTurn) -> None:
        """Counts a turn that was answered."""
        statistics = self._statistics
        statistics.turns += 1
        statistics.guessed += turn.situation is None
        statistics.doubtful += turn.situation is not None and turn.situation.states > 1
        playouts = turn.thought.opinion.info.get("playouts") if turn.thought is not None else None
        if isinstance(playouts, int):
            # A search that goes on from the last turn does not reset its count.
            statistics.playouts += playouts - self._playouts if playouts >= self._playouts else playouts
            self._playouts = playouts
