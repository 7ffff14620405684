"""Counters of the server process, for `/metrics` and `/healthz`.

prometheus_client, which writes the exposition format, is imported at the first request: a server restarted in mid-match
does not wait for it.
"""

from __future__ import annotations

import asyncio
import bisect
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from agent.processes import descendants

LATENESS_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Upper bounds, in seconds, for delays of replies."""

DELAY_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5)
"""Upper bounds, in seconds, for delays of the event loop."""

LATEST = 10
"""Newest values of a histogram that are kept as they are."""

LOOP_STEP = 0.05
"""Seconds between two measurements of the event loop's delay."""

STEPS_PER_SECOND = 20
"""Measurements per report; the largest is reported."""


class Histogram:
    """Counts of values up to given bounds, as in Prometheus."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.total = 0.0
        self.largest = 0.0
        self.latest: deque[float] = deque(maxlen=LATEST)

    def add(self, value: float) -> None:
        """Counts a value; a negative one counts as 0."""
        value = max(0.0, value)
        self._counts[bisect.bisect_left(self._bounds, value)] += 1
        self.total += value
        self.largest = max(self.largest, value)
        self.latest.append(value)

    @property
    def count(self) -> int:
        """Number of values."""
        return sum(self._counts)

    def cumulative(self) -> list[tuple[str, float]]:
        """Returns each bound with the number of values up to it."""
        found: list[tuple[str, float]] = []
        count = 0
        for bound, here in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            count += here
            found.append((bound, count))
        return found


class Statistics:
    """All counters, since this process began."""

    def __init__(self, running: Callable[[], int] = lambda: 0, restarts: int = 0) -> None:
        """`running` gives the number of running matches; `restarts` is the number of restarts of the server."""
        self.begun = time.monotonic()
        self.running = running
        self.restarts = restarts
        self.turns = 0
        """Turns answered."""
        self.playouts = 0
        """Playouts of engines that count them."""
        self.matches = 0
        """Matches begun or taken up."""
        self.refused = 0
        """STARTs answered `busy`."""
        self.workers_lost = 0
        self.guessed = 0
        """Turns answered without knowing the legal moves."""
        self.doubtful = 0
        """Turns answered while the state was in doubt."""
        self.lateness = Histogram(LATENESS_BUCKETS)
        self.loop_delay = Histogram(DELAY_BUCKETS)
        self.collections = Histogram(DELAY_BUCKETS)
        """Seconds of each garbage collection."""
        self.margin = 0.0
        """Seconds kept back from the clock of the last turn."""
        self.round_trip = 0.0
        """Seconds to the manager of the last turn and back, measured by the system."""

    async def watch_loop(self, report: Callable[[float], None] = lambda seconds: None) -> None:
        """Measures the event loop's delay for ever; reports the largest of each second."""
        while True:
            largest = 0.0
            for _ in range(STEPS_PER_SECOND):
                due = time.monotonic() + LOOP_STEP
                await asyncio.sleep(LOOP_STEP)
                delay = time.monotonic() - due
                self.loop_delay.add(delay)
                largest = max(largest, delay)
            report(largest)

    def health(self) -> dict[str, object]:
        """Returns a summary, as JSON data."""
        return {
            "uptime": round(time.monotonic() - self.begun, 3),
            "restarts": self.restarts,
            "matches": self.running(),
            "turns": self.turns,
            "largest_lateness": round(self.lateness.largest, 4),
            "largest_loop_delay": round(self.loop_delay.largest, 4),
            "largest_collection": round(self.collections.largest, 4),
            "margin": round(self.margin, 4),
        }

    def match_day(self) -> dict[str, object]:
        """Returns what an organiser wants to see on the page, as JSON data; times are in seconds, memory in bytes."""
        return {
            "lateness": {"largest": self.lateness.largest, "latest": list(self.lateness.latest)},
            "margin": self.margin,
            "memory": self.memory(),
            "troubles": {
                "processes lost": self.workers_lost,
                "turns guessed": self.guessed,
                "turns in doubt": self.doubtful,
                "matches refused": self.refused,
                "restarts": self.restarts,
            },
        }

    def memory(self) -> dict[str, int]:
        """Returns the bytes of resident memory of the server, and of its workers."""
        return {"server": resident(os.getpid()), "workers": sum(map(resident, descendants(os.getpid())))}

    def exposition(self) -> bytes:
        """Returns all counters in Prometheus' text format. The first call takes longer: it imports the writer."""
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry()
        registry.register(_Collector(self))
        return generate_latest(registry)


class _Collector:
    """Adapter to prometheus_client."""

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        here = self._statistics
        counters = {
            "turns": (here.turns, "Turns answered"),
            "playouts": (here.playouts, "Playouts of engines that count them"),
            "matches": (here.matches, "Matches begun or taken up"),
            "starts_refused": (here.refused, "STARTs answered busy"),
            "restarts": (here.restarts, "Times that the server was started again by its supervisor"),
            "workers_lost": (here.workers_lost, "Workers that died or hung in a match"),
            "turns_guessed": (here.guessed, "Turns answered without knowing what was legal"),
            "turns_doubtful": (here.doubtful, "Turns answered while the state was in doubt"),
        }
        for name, (value, text) in counters.items():
            yield CounterMetricFamily(f"ggp_agent_{name}", text, value=value)
        yield GaugeMetricFamily("ggp_agent_matches_running", "Matches being played", value=here.running())
        margin = "Seconds kept back from the clock of the last turn, for the network and for delays"
        yield GaugeMetricFamily("ggp_agent_margin_seconds", margin, value=here.margin)
        round_trip = "Seconds to the manager of the last turn and back"
        yield GaugeMetricFamily("ggp_agent_round_trip_seconds", round_trip, value=here.round_trip)
        memory = GaugeMetricFamily("ggp_agent_memory_bytes", "Resident memory", labels=["of"])
        for whose, size in here.memory().items():
            memory.add_metric([whose], size)
        yield memory
        histograms = {
            "lateness_seconds": (here.lateness, "How much later than planned replies left"),
            "loop_delay_seconds": (here.loop_delay, "How much later than asked for the event loop came round"),
            "collection_seconds": (here.collections, "How long collections of garbage took, which nothing runs beside"),
        }
        for name, (histogram, text) in histograms.items():
            buckets = [(bound, value) for bound, value in histogram.cumulative()]
            yield HistogramMetricFamily(f"ggp_agent_{name}", text, buckets=buckets, sum_value=histogram.total)


def resident(pid: int) -> int:
    """Returns the bytes of resident memory of a process; 0 if it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
