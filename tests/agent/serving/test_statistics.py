"""Metrics and logs of the server."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import pytest

from agent.logs import JSON_LOGS, JsonFormatter, formatter
from agent.serving.statistics import LATEST, Histogram, Statistics


def test_histogram_counts_up_to_each_bound() -> None:
    """A value on a bound belongs to it; a negative one counts as 0."""
    histogram = Histogram((0.1, 1.0))
    for value in (-3.0, 0.1, 0.5, 7.0):
        histogram.add(value)
    assert histogram.cumulative() == [("0.1", 2), ("1.0", 3), ("+Inf", 4)]
    assert (histogram.count, histogram.largest, histogram.total) == (4, 7.0, 7.6)


def test_exposition_has_every_figure() -> None:
    """All figures are there from the beginning."""
    text = Statistics(lambda: 3, 2).exposition().decode()
    for line in ("ggp_agent_matches_running 3.0", "ggp_agent_restarts_total 2.0", "ggp_agent_turns_total 0.0"):
        assert line in text.splitlines()


def test_organisers_see_the_newest_delays_and_all_troubles() -> None:
    """The largest delay stays, of the others the newest are told; memory is that of the processes."""
    statistics = Statistics(lambda: 3, 2)
    for late in (0.5, *([0.001] * LATEST)):
        statistics.lateness.add(late)
    statistics.guessed = 1
    told = statistics.match_day()
    assert told["lateness"] == {"largest": 0.5, "latest": [0.001] * LATEST}
    assert told["troubles"] == {
        "processes lost": 0,
        "turns guessed": 1,
        "turns in doubt": 0,
        "matches refused": 0,
        "restarts": 2,
    }
    assert statistics.memory()["server"] > 1 << 20


def test_restarted_server_does_not_wait_for_prometheus() -> None:
    """prometheus_client is imported at the first request for metrics."""
    code = "import sys, agent.serving.player; sys.exit('prometheus_client' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_log_for_machines_is_one_object_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines have the match's name in workers, and exceptions inside."""
    monkeypatch.setenv(JSON_LOGS, "1")
    try:
        raise ValueError("wrong\nthing")
    except ValueError:
        record = logging.LogRecord("a.b", logging.ERROR, "x.py", 1, "it is %s", ('"so"',), sys.exc_info())
    text = formatter("m%1").format(record)
    assert isinstance(formatter(), JsonFormatter)
    assert "\n" not in text
    line = json.loads(text)
    assert (line["level"], line["logger"], line["match"], line["message"]) == ("ERROR", "a.b", "m%1", 'it is "so"')
    assert "ValueError" in line["error"]
