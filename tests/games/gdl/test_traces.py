"""Reference traces: matches of other people's rulesheets, as another reasoner played them.

`ggp-agent lab conform` compares whole traces of all sheets; these are a few states of each of some.
"""

from __future__ import annotations

import gzip
import json
import math
from itertools import islice
from pathlib import Path

import pytest

from agent.lab.conform import trace_replay
from agent.lab.conform.conformity import SheetReport
from games.gdl.grounding.ground import VARIANTS
from games.machine import StateMachine
from protocol.terms import decode
from tests.circuits import machine_of
from tests.matches import interpreter_of


def text_of(corpus: Path, game: str) -> str:
    """The text of a rulesheet."""
    return decode((corpus / f"{game}.kif").read_bytes())


def follow(machine: StateMachine, corpus: Path, game: str, states: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compares a machine with its trace in some states, spread evenly over it."""
    spread = trace_replay.spread
    monkeypatch.setattr(trace_replay, "spread", lambda places: islice(spread(places), states))
    trace = json.loads(gzip.decompress((corpus / "traces" / f"{game}.json.gz").read_bytes()))
    report = SheetReport(game)
    trace_replay.Replay(machine, trace, report).run(math.inf)
    assert report.described == []
    assert report.states == min(states, report.states_in_trace)


@pytest.mark.parametrize(
    ("game", "states"),
    [
        ("chess", 12),
        ("sudoku", 12),
        ("laikLee_hex", 10),
        ("wargame03", 6),
        ("cittaceot", 10),
        ("reversi", 10),
    ],
)
def test_interpreters_agree(corpus: Path, game: str, states: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Legal moves, next facts, end and goals."""
    follow(interpreter_of(text_of(corpus, game)), corpus, game, states, monkeypatch)


@pytest.mark.parametrize(
    ("number", "game"),
    list(enumerate(["ticTacToe", "tictactoe-init1", "3pConnectFour", "hitori", "nim4", "biddingTicTacToe", "pentago"])),
)
def test_circuits_agree(corpus: Path, number: int, game: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same of circuits, grounded in one way or another."""
    machine = machine_of(text_of(corpus, game), VARIANTS[number % len(VARIANTS)])
    follow(machine, corpus, game, 200, monkeypatch)
