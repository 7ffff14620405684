"""Openings: random, and balanced."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agent.errors import InputError
from agent.lab.tournament import balance, matches
from agent.lab.tournament.engine_player import ENGINES
from agent.lab.tournament.matches import MatchPlayer
from agent.lab.tournament.openings import after, random_opening
from agent.search.engine import Limit, Opinion
from agent.sheet import load
from games.gdl.running.machine import CircuitMachine
from protocol.kif import read_one
from tests.agent.lab.tournament.played import SETTINGS, tournament

BALANCED = replace(SETTINGS, opening_plies=3, balanced=True)


def test_openings_do_not_end_the_match() -> None:
    """Random openings leave a match to play; where none does, that is an error."""
    machine = load("tic_tac_toe").machine()
    for seed in range(8):
        opening = random_opening(machine, 6, random.Random(seed))
        assert len(opening) == 6
        assert not machine.terminal(after(machine, opening))
    with pytest.raises(InputError, match="shorter openings"):
        random_opening(machine, 9, random.Random(0))


def test_balanced_openings_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """In tic-tac-toe, three plies that lose for one side are left out."""
    # Long enough to prove it on any machine; a proof ends the search.
    monkeypatch.setattr(balance, "JUDGING_SECONDS", 600.0)
    sheet = load("tic_tac_toe")
    machine = sheet.machine()
    assert isinstance(machine, CircuitMachine)
    player = MatchPlayer(BALANCED, {}, {sheet.name: sheet})
    for number in range(1, 3):
        engine = ENGINES["general"](machine, 0)
        assert engine is not None
        opening = [[read_one(move) for move in moves] for moves in player.draw(sheet.name, number)]
        engine.begin(after(machine, opening))
        opinions: list[Opinion] = []
        engine.think(np.zeros(1, np.uint8), opinions.append, Limit(600.0))
        assert opinions[-1].final
        assert opinions[-1].score is not None
        assert opinions[-1].score.goal == 50.0


def test_matches_of_a_round_share_a_balanced_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All matches of a round have one balanced opening, after interruptions and with new players, too."""
    log = tmp_path / "log"

    def openings(players: list[str]) -> list[str]:
        standings = tournament(players, ["tic_tac_toe"], BALANCED, rounds=2, log=log)
        found = {(result.round, str(result.opening)) for result in standings.results}
        assert len(found) == 2
        return [opening for _, opening in sorted(found)]

    before = openings(["random", "legal"])
    lines = log.read_text().splitlines(keepends=True)
    assert [json.loads(line)["round"] for line in lines] == [1, 1, 2, 2]
    log.write_text("".join([*lines[:3], lines[3][:50]]))
    # None would be found anew.
    monkeypatch.setattr(matches, "is_balanced", lambda *_: False)
    assert openings(["random", "legal"]) == before
    assert openings(["random", "legal", "more=random:1"]) == before


def test_games_without_balanced_openings() -> None:
    """Other numbers of players, and openings without a ply, are refused before anything is played."""
    with pytest.raises(InputError, match="eight_puzzle: only games of two players"):
        tournament(["random", "legal"], ["eight_puzzle"], BALANCED)
    with pytest.raises(InputError, match="at least one ply"):
        tournament(["random", "legal"], ["tic_tac_toe"], replace(BALANCED, opening_plies=0))
