"""When the answers of one match are due, and what is counted of its turns."""

from __future__ import annotations

from agent.serving.clock import Clock, Deadline, Delays, Instant, now
from agent.serving.statistics import Statistics
from agent.serving.turn import MatchTurn


class MatchClock:
    """A match's view of the clock and the statistics that all matches share."""

    def __init__(self, clock: Clock, statistics: Statistics) -> None:
        self._clock = clock
        self._statistics = statistics
        self._round_trips = Delays()
        """To the manager and back."""
        self._playouts = 0
        """As the engine counted them last."""
        statistics.matches += 1

    @property
    def margin(self) -> float:
        """Seconds kept back from each clock at least."""
        return self._clock.margin

    def start(self, received: Instant, seconds: float) -> Deadline:
        """When the reply to a START is to leave."""
        return self._clock.deadline(received, seconds)

    def play(self, received: Instant, seconds: float, round_trip: float) -> Deadline:
        """When the reply to a PLAY is to leave that takes so many seconds to its manager and back."""
        self._round_trips.add(round_trip)
        deadline = self._clock.deadline(received, seconds, self._round_trips.high)
        self._statistics.round_trip = round_trip
        self._statistics.margin = received + seconds - deadline.at
        return deadline

    def woke(self, deadline: Deadline, begun: Instant) -> None:
        """Notes how late a wait for the deadline, begun before it, has ended."""
        if begun < deadline.at < now():
            self._clock.lateness.add(now() - deadline.at)

    def replied(self, deadline: Deadline) -> None:
        """Counts how late a reply leaves."""
        self._statistics.lateness.add(now() - deadline.at)

    def lost_worker(self) -> None:
        """Counts a worker that died or hung."""
        self._statistics.workers_lost += 1

    def count(self, turn: MatchTurn) -> None:
        """Counts a turn that was answered."""
        statistics = self._statistics
        statistics.turns += 1
        statistics.guessed += turn.situation is None
        statistics.doubtful += turn.situation is not None and turn.situation.states > 1
        playouts = turn.thought.opinion.info.get("playouts") if turn.thought is not None else None
        if isinstance(playouts, int):
            # A search that goes on from the last turn counts on.
            statistics.playouts += playouts - self._playouts if playouts >= self._playouts else playouts
            self._playouts = playouts
