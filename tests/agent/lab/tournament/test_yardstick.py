"""Rating a player against levels of this agent."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import numpy as np
import pytest

from agent.cli import main
from agent.commands.options import OK, WRONG_INPUT
from agent.lab.tournament.yardstick import LEVELS
from agent.refereeing.agent_process import AgentProcess


@pytest.mark.parametrize("strength", [1.0, 6.5, 13.0])
def test_the_estimate_finds_a_player_of_known_strength(strength: float) -> None:
    """Matches against the level nearest to the estimate so far close in on the level that scores half."""
    generator = random.Random(4)
    scores: list[tuple[float, float]] = []
    for _ in range(100):
        level = min(max(round(LEVELS.estimate([LEVELS.likelihood(scores)]).strength), 0), LEVELS.top)
        won = generator.random() < 1 / (1 + np.exp(-0.7 * (strength - level)))
        scores.append((level, float(won)))
    found = LEVELS.estimate([LEVELS.likelihood(scores)])
    assert found.low < strength < found.high
    assert found.high - found.low < 2.5
    # Three games of the same results tell more than one.
    three = LEVELS.estimate([LEVELS.likelihood(scores)] * 3)
    assert three.strength == pytest.approx(found.strength)
    assert three.high - three.low == pytest.approx((found.high - found.low) / 3**0.5, rel=0.1)


def test_players_beyond_the_ladder_are_told_so() -> None:
    """Whoever loses all matches against the lowest level, or wins all against the highest, is off the ladder."""
    for height, share, text in ((0, 0.0, "< 1"), (LEVELS.top, 1.0, "> 16384")):
        assert LEVELS.text(LEVELS.estimate([LEVELS.likelihood([(height, share)] * 8)]).strength) == text
    assert LEVELS.text(10) == "1000"


def rated(*arguments: object) -> int:
    """The exit status of the command, with short matches."""
    return main(["rate", *map(str, arguments), "--opening", "1", "--start-clock", "30", "--play-clock", "30"])


def test_a_rating_goes_on_from_its_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Started again, the command plays only what is missing; its result is that of all matches."""
    log, result = tmp_path / "log.jsonl", tmp_path / "result.json"
    assert rated("random", "tic_tac_toe", "--matches", 2, "--log", log) == OK
    first = log.read_text()
    assert first.count("\n") == 2
    assert rated("random", "tic_tac_toe", "--matches", 4, "--log", log, "--json", result) == OK
    assert log.read_text().startswith(first)
    assert log.read_text().count("\n") == 4
    (game,) = json.loads(result.read_text())["games"]
    assert sum(level["matches"] for level in game["levels"]) == game["matches"] == 4
    assert game["low"] <= game["playouts"] <= game["high"]
    assert "all games" in capsys.readouterr().out


def test_games_of_other_numbers_of_players_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A share of the points has a meaning for two players only."""
    assert rated("random", "three_way_line") == WRONG_INPUT
    assert "three_way_line: players are rated at games of two players" in capsys.readouterr().err


@pytest.mark.e2e
def test_a_player_is_rated_by_the_protocol(tmp_path: Path) -> None:
    """A server of a level is a black box like any other player: it makes no errors, and comes out near its level."""
    result = tmp_path / "result.json"
    with AgentProcess(level="64") as agent:
        asyncio.run(agent.wait_until_available(lambda text: None))
        assert rated(agent.url, "tic_tac_toe", "--matches", 2, "--json", result) == OK
    (game,) = json.loads(result.read_text())["games"]
    assert game["errors"] == 0
    assert game["low"] < 64 < game["high"]
