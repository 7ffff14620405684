"""Positions are drawn, and computed, by a child process: rules cannot harm the process that shows them."""

from __future__ import annotations

import resource
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agent.web import pictures
from agent.web.pictures import Pictures
from agent.web.records import write_record
from agent.web.transcript import Transcript
from games import rulesheets
from games.machine import Term
from protocol.kif import read_rulesheet
from tests.matches import own_interpreter
from tests.processes import PATIENCE

NUMBERS = " ".join(f"(n {number})" for number in range(60))

HUGE = f"""(role x) (role o) {NUMBERS} (<= (init (f ?a ?b ?c ?d)) (n ?a) (n ?b) (n ?c) (n ?d))
(<= (legal ?r noop) (role ?r)) (<= (next ?f) (true ?f)) (<= terminal (true (f 1 1 1 1)))
(goal x 0) (goal o 0)"""
"""60^4 facts at the start."""


@pytest_asyncio.fixture
async def drawn() -> AsyncIterator[Pictures]:
    """Pictures, closed in the end."""
    drawn = Pictures()
    yield drawn
    drawn.close()


def taken_up(rules: tuple[Term, ...], key: str) -> Transcript:
    """A match of tic-tac-toe of which only the third position was seen, with these rules."""
    machine = own_interpreter("tic_tac_toe")
    transcript = Transcript("g", "g", machine.roles, ("a", "b"), 1, 1, rules=rules, key=key)
    state = machine.initial()
    for _ in range(2):
        moves = tuple(machine.legal(state, role)[0] for role in range(2))
        state = machine.next(state, moves)
        transcript.move(moves)
    transcript.reach(machine.facts(state))
    return transcript


async def test_unseen_positions_are_computed_elsewhere(drawn: Pictures, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are drawn as the others; this process interprets nothing, and its limit of recursion stays as it is."""
    transcript = taken_up(read_rulesheet(rulesheets.text("tic_tac_toe")), "k")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit - 1)
    try:
        positions = [await drawn.draw(transcript, ply) for ply in range(3)]
        assert sys.getrecursionlimit() == limit - 1
    finally:
        sys.setrecursionlimit(limit)
    assert all(position["known"] and len(position["svg"]) == 1 for position in positions)
    assert positions[0]["svg"] != positions[1]["svg"] != positions[2]["svg"]
    assert drawn._child is not None


async def test_rules_that_explode_cost_one_match_its_positions(
    drawn: Pictures, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The child ends at its bound on memory, which the log says; this process takes none, and others are drawn."""
    monkeypatch.setattr(pictures, "MEMORY_BYTES", 32 << 20)
    monkeypatch.setattr(pictures, "MOST_SECONDS", PATIENCE)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    huge = taken_up(read_rulesheet(HUGE), "huge")
    assert (await drawn.draw(huge, 0))["known"] is False
    assert "MiB of memory" in caplog.text
    assert (await drawn.draw(huge, 2))["known"] is True
    other = taken_up(read_rulesheet(rulesheets.text("tic_tac_toe")), "other")
    assert (await drawn.draw(other, 0))["known"] is True
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 << 10


async def test_record_with_rules_that_explode_is_listed(
    drawn: Pictures, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Its facts are, by another child, which looks through its rules no more; other records are drawn."""
    monkeypatch.setattr(pictures, "MEMORY_BYTES", 32 << 20)
    monkeypatch.setattr(pictures, "MOST_SECONDS_READING", PATIENCE)
    shown = []
    for name, source in (("huge", HUGE), ("other", rulesheets.text("tic_tac_toe"))):
        record = taken_up(read_rulesheet(source), name)
        record.end("aborted")
        write_record(tmp_path / name, record.as_json())
        version = tmp_path / name, 0, (tmp_path / name).stat().st_size
        shown.append([await drawn.draw_record(version, ply) for ply in (0, 2)])
    huge, other = shown
    assert [position["known"] for position in huge + other] == [False, True, True, True]
    assert huge[1]["rest"]
    assert huge[1]["svg"] == []
    assert other[0]["svg"]
    assert caplog.text.count("MiB of memory") == 1


async def test_work_that_does_not_end_is_given_up(
    drawn: Pictures, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Facts are listed where no board is found in time, and nobody waits for that match again."""
    monkeypatch.setattr(pictures, "MOST_SECONDS", 0.0)
    transcript = taken_up((), "k")
    assert (await drawn.draw(transcript, 2))["rest"]
    assert "facts are listed: no answer within 0 s" in caplog.text
    assert drawn._child is None
    caplog.clear()
    assert (await drawn.draw(transcript, 2))["svg"] == []
    assert caplog.text == ""
