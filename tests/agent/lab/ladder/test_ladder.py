"""Climbing a ladder: the rung that is found, logs, and the command."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from agent.cli import main
from agent.commands.options import OK, WRONG_INPUT
from agent.json_lines import read_lines
from agent.lab.tournament import matches, yardstick
from agent.lab.tournament.contenders import Contender
from agent.lab.tournament.logged import read_tournament
from agent.lab.tournament.results import MatchResult, Pairing, Settings, digest
from agent.lab.tournament.yardstick import Ladder, rate
from agent.sheet import load
from tests.agent.lab.ladder import games
from tests.agent.lab.ladder.games import HEAP

RUNGS = Ladder([Contender(f"e.{100 * 4**n}", "", "outside") for n in range(8)], 100, 2, "nodes", first=2)


class Simulated:
    """Stands for `MatchPlayer`: the player's chances are those of a strength in doublings."""

    strength = 0.0

    def __init__(self, settings: Settings, contenders: object, sheets: Mapping[str, object], outside: object) -> None:
        self._random = random.Random(settings.seed)
        self._sheets = sheets

    def draw(self, game: str, number: int, others: Iterable[list[list[str]]] = ()) -> list[list[str]]:
        opening = [["(take 1)", str(number)]]
        assert opening not in list(others)
        return opening

    def play(self, pairing: Pairing, opening: list[list[str]]) -> Iterator[MatchResult]:
        seat = pairing.seats.index("us")
        won = self._random.random() < 1 / (1 + np.exp(-0.8 * (self.strength - RUNGS.height(pairing.seats[1 - seat]))))
        goals: list[int | None] = [100, 0] if won == (seat == 0) else [0, 100]
        rules = digest(load("tic_tac_toe"))
        yield MatchResult(
            pairing.game,
            pairing.round,
            list(pairing.seats),
            ["", ""],
            rules,
            ["x", "o"],
            "finished",
            goals,
            opening,
            [],
            [],
            0.0,
        )

    def close(self) -> None:
        """Nothing to end."""


@pytest.mark.parametrize("strength", [1.0, 9.5])
def test_the_rung_of_half_of_the_points_is_found(strength: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first rung it climbs and descends one by one, and ends near the right one, with an interval."""
    monkeypatch.setattr(yardstick, "MatchPlayer", Simulated)
    monkeypatch.setattr(Simulated, "strength", strength)
    settings = Settings(7, 1, 1, 1, "none", 1, balanced=True)
    player = Contender("us", "", "engine")
    (rating,) = rate(player, [load("tic_tac_toe")], settings, matches=80, ladder=RUNGS)
    heights = [height for height, _ in rating.scores]
    assert heights[:2] == [4, 4]
    assert max(abs(heights[n + 1] - heights[n]) for n in range(len(heights) - 1)) == 2
    found = rating.estimate
    assert found.low < strength < found.high
    assert found.high - found.low < 4
    assert len({json.dumps(result.opening) for result in rating.results}) == len(rating.results) / 2
    assert RUNGS.text(found.strength) == f"{float(f'{100 * 2**found.strength:.2g}'):g}"


@pytest.fixture
def heap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command for matches of the smaller game from its own file; all openings are taken for balanced."""
    monkeypatch.setattr(matches, "is_balanced", lambda *_: True)
    sheet = tmp_path / "heap.kif"
    sheet.write_text(HEAP)
    return ["lab", "ladder", str(sheet), "--engine", games.__file__, "--player", "legal", "--opening", "1"]


def test_a_series_goes_on_from_its_log(heap: list[str], tmp_path: Path) -> None:
    """Killed between the matches of a pair, and started again, it plays the second from the same opening, and the
    next pair from another."""
    log, result = tmp_path / "log.jsonl", tmp_path / "result.json"
    assert main([*heap, "--matches", "2", "--log", str(log)]) == OK
    first, second = log.read_text().splitlines(keepends=True)
    log.write_text(first + second[:50])
    assert main([*heap, "--matches", "4", "--log", str(log), "--json", str(result)]) == OK
    assert log.read_text().startswith(first)
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert [row["round"] for row in rows] == [1, 1, 2, 2]
    assert rows[0]["opening"] == rows[1]["opening"] != rows[2]["opening"] == rows[3]["opening"]
    assert [row["seats"].index("legal") for row in rows] == [0, 1, 0, 1]
    data = json.loads(result.read_text())
    assert sum(level["matches"] for level in data["levels"]) == 4
    assert data["rung_low"] <= data["rung"] <= data["rung_high"]
    # Two openings lead to different positions, and there is no third.
    assert main([*heap, "--matches", "6", "--log", str(log)]) == WRONG_INPUT


def test_a_damaged_match_is_played_again_from_its_opening(
    heap: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where that opening would not be chosen again: both matches of a pair have the same one."""
    log = tmp_path / "log.jsonl"
    assert main([*heap, "--matches", "2", "--log", str(log)]) == OK
    first, second = log.read_text().splitlines(keepends=True)
    log.write_text(f"{first[:50]}\n{second}")
    monkeypatch.setattr(matches, "is_balanced", lambda *_: False)
    assert main([*heap, "--matches", "2", "--log", str(log)]) == OK
    rows = [row for _, row in read_lines(log.read_bytes()) if row is not None]
    assert [(row["seats"].index("legal"), row["opening"]) for row in rows] == [
        (1, rows[0]["opening"]),
        (0, rows[0]["opening"]),
    ]


def test_the_matches_of_a_series_can_be_shown(heap: list[str], tmp_path: Path) -> None:
    """The page names engines as they were given, which may be a path or a command with options."""
    log = tmp_path / "log.jsonl"
    assert main([*heap, "--matches", "2", "--log", str(log)]) == OK
    page = read_tournament(log)
    assert page is not None
    assert {contender.spec for contender in page.contenders} == {"legal", f"{games.__file__} 1600 nodes"}
    found = page.matches(None, None)
    assert found["count"] == 2
    assert all(page.find(match["key"]) is not None for match in found["matches"])
    assert log.read_text().count('"rulesheet"') == 1


def test_a_share_of_kept_values_is_told(heap: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Against the perfect player, the first legal move keeps the value where that is to take one."""
    result = tmp_path / "result.json"
    assert main([*heap, "--share", "--matches", "4", "--json", str(result)]) == OK
    data = json.loads(result.read_text())
    kept = data["kept"]
    assert kept["low"] <= kept["share"] <= kept["high"]
    assert [kept["wins"], kept["losses"], sum(map(len, data["kept_by_match"]))] == [2, 1, 3]
    assert [data["matches"]["wins"], data["matches"]["losses"]] == [1, 3]
    assert "2 of 3 moves with something to lose kept the value: 66.7 %" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (["--option", "heap=8"], "heaps plays other rules"),
        (["--first", "101"], "101 is no rung; there are 25, 100, 400"),
        (["--share", "--opening", "9"], "choose shorter openings"),
        (["--option", "fails=choose"], "heaps failed: ZeroDivisionError: division by zero"),
        (["--option", "fails=legal"], "heaps failed: ZeroDivisionError: division by zero"),
        (["--option", "heap=x"], "games.py failed: ValueError: invalid literal"),
    ],
)
def test_what_makes_no_sense_is_refused(
    heap: list[str], more: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other rules and no rung before the first match; an engine that fails ends the series."""
    assert main([*heap, "--matches", "2", *more]) == WRONG_INPUT
    assert error in capsys.readouterr().err
