"""The table of a tournament."""

from __future__ import annotations

import csv
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from agent.lab.progress import duration
from agent.lab.tally import wilson
from agent.lab.tournament.contenders import parse_contenders
from agent.lab.tournament.report import describe, show, write_csv
from agent.lab.tournament.results import MatchResult, Settings
from agent.lab.tournament.standings import Standings
from agent.lab.tournament.turns import Turns

CONTENDERS = parse_contenders(["a=random:1", "b=random:2", "c=legal"], [])


def result(game: str, seats: str, goals: list[int | None], *errors: int, outcome: str = "finished") -> MatchResult:
    """Returns a match with those goals; `errors` are the seats of late players."""
    late: list[dict[str, object]] = [{"seat": seat, "kind": "late"} for seat in errors]
    roles = [f"role{number}" for number in range(len(seats))]
    return MatchResult(game, 1, list(seats), list(seats), "", roles, outcome, goals, [], [], late, 1.0)


RESULTS = [
    result("two", "ab", [100, 0]),
    result("two", "ba", [50, 50], 0, 0),
    result("two", "bc", [0, None]),
    result("three", "abc", [100, 0, 50]),
    result("two", "cb", [], outcome="stalled"),
]


def line_of(standings: Standings, player: str) -> dict[str, object]:
    """Returns a player's line as data."""
    settings = Settings(0, 0, 30, 5, "none", 1)
    table = json.loads(json.dumps(standings.as_json(settings, 1)))["table"]
    found: dict[str, object] = next(line for line in table if line["player"] == player)
    return found


def test_table() -> None:
    """Goals are averaged, roles compared in pairs, errors counted; a match without a result counts for nothing else."""
    standings = Standings(CONTENDERS, ["two", "three"], RESULTS)
    a, b, c = (line_of(standings, player) for player in "abc")
    assert a["goals"]["average"] == pytest.approx(83.33)  # type: ignore[index]
    assert a["goals_by_game"]["three"]["average"] == 100.0  # type: ignore[index]
    assert (a["wins"], a["draws"], a["losses"]) == (3, 1, 0)
    # A role without a goal has 0 points.
    assert b["against"] == {
        "a": {"wins": 0, "draws": 1, "losses": 2},
        "c": {"wins": 0, "draws": 1, "losses": 1},
    }
    assert b["errors"] == {"late": 2}
    assert c["goals"]["seats"] == 2  # type: ignore[index]
    assert standings.stalled == 1
    assert [line.contender.label for line in standings.lines] == ["a", "c", "b"]


def test_points_by_who_moved_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Points count by who chose first; where several chose at once, for neither."""
    results = [
        replace(result("two", "ab", [100, 0]), chose_first=0),
        replace(result("two", "ba", [0, 100]), chose_first=0),
        replace(result("two", "ab", [0, 100]), chose_first=1),
        result("two", "ab", [50, 50]),
    ]
    standings = Standings(CONTENDERS, ["two"], results)
    a, b = (line_of(standings, player) for player in "ab")
    # Of 2.5 points to 1.5.
    assert (a["elo"]["elo"], b["elo"]["elo"]) == (35.1, -35.1)  # type: ignore[index]
    assert a["points"] == {"wins": 2, "draws": 1, "losses": 1, "share": 0.625, "low": 0.2194, "high": 0.9081}
    assert [a[part]["share"] for part in ("moving_first", "moving_later")] == [1.0, 0.5]  # type: ignore[index]
    assert [b[part]["share"] for part in ("moving_first", "moving_later")] == [0.5, 0.0]  # type: ignore[index]
    show(standings)
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("a") and "%" in line)
    assert [part.strip() for part in row.split("  ") if "of" in part] == ["62.5 % of 4", "100.0 % of 1", "50.0 % of 2"]


def test_turns_of_engines(capsys: pytest.CaptureFixture[str]) -> None:
    """Proofs have medians, in which a match without one counts as proven at its end."""
    played = [
        (20, Turns(11, 0, 0.1, 1.0, 0.75)),
        (20, Turns(None, 1, 0.2, 1.0, 0.75)),
        (30, Turns(9, 0, 0.1, 1.0, 0.75)),
    ]
    results = [
        replace(result("two", "ab", [100, 0]), moves=[["a", "b"]] * length, turns=[turns, None])
        for length, turns in played
    ]
    standings = Standings(CONTENDERS, ["two"], results)
    # From plies 11, 21 (never) and 9 on, of 20, 20 and 30.
    assert line_of(standings, "a")["turns"] == {
        "matches": 3,
        "proven_from": 11,
        "proven_before_end": 10,
        "never_proven": 1,
        "proofs_missed": 1,
        "slowest": 0.2,
        "busy": 0.75,
    }
    assert line_of(standings, "b")["turns"] is None
    show(standings)
    row = capsys.readouterr().out.splitlines()[-1].split()
    assert row == ["a", "11", "10", "1", "of", "3", "1", "0.200", "s", "75", "%"]


def test_order_of_the_matches_plays_no_part() -> None:
    """The table is the same in any order of matches."""
    settings = Settings(0, 0, 30, 5, "none", 1)
    expected = Standings(CONTENDERS, ["two", "three"], RESULTS).as_json(settings, 1)
    for seed in range(5):
        shuffled = random.Random(seed).sample(RESULTS, len(RESULTS))
        assert Standings(CONTENDERS, ["two", "three"], shuffled).as_json(settings, 1) == expected


def test_intervals_are_never_empty() -> None:
    """Equal goals have a wide interval, too: a few matches prove little."""
    standings = Standings(CONTENDERS, ["two"], [result("two", "ab", [100, 0])] * 4)
    goals = line_of(standings, "a")["goals"]
    low, high = wilson(1.0, 4)
    assert goals == {"seats": 4, "average": 100.0, "low": round(100 * low, 2), "high": 100 * high}
    assert low < 0.6


def test_games_of_one_role_have_no_ratings(capsys: pytest.CaptureFixture[str]) -> None:
    """Without opponents there are no ratings; the best average comes first."""
    standings = Standings(CONTENDERS, ["one"], [result("one", "a", [10]), result("one", "c", [90])])
    assert [line.contender.label for line in standings.lines] == ["c", "a", "b"]
    assert all(line.rating is None for line in standings.lines)
    show(standings)
    assert capsys.readouterr().out.splitlines()[1].split()[:3] == ["c", "1", "90.0"]


def test_printed_table_and_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table has a row per player, best first; plain text without a terminal."""
    standings = Standings(CONTENDERS, ["two", "three"], RESULTS)
    show(standings)
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.splitlines()]
    assert [row[0] for row in rows[1:4]] == ["a", "c", "b"]
    assert "2 late" in shown
    assert "1 matches have no result" in shown
    write_csv(tmp_path / "table.csv", standings)
    with (tmp_path / "table.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [row["player"] for row in table] == ["a", "c", "b"]
    assert table[0]["average_three"] == "100.0"
    assert table[2]["errors"] == "2"


def test_lines_for_people() -> None:
    """Matches and times have short texts."""
    assert describe(RESULTS[1], "here") == "two, round 1: role0 b 50, role1 a 50; errors of players: 2 [here]"
    assert "stalled" in describe(RESULTS[4], "here")
    assert [duration(seconds) for seconds in (12.3, 83.0, 7322.0)] == ["12 s", "1 min 23 s", "2 h 2 min"]


def test_goals_beyond_the_usual_range_keep_their_order() -> None:
    """Means, intervals around them, ratings and ranks; also where every goal is negative."""
    results = [result("two", "ab", [150, 120]), result("two", "ba", [110, 140]), result("two", "bc", [-40, -60])]
    standings = Standings(CONTENDERS, ["two"], results)
    assert [line.contender.label for line in standings.lines] == ["a", "b", "c"]
    for player, mean in (("a", 145), ("b", 63.33), ("c", -60)):
        goals = line_of(standings, player)["goals"]
        assert goals["average"] == mean  # type: ignore[index]
        assert goals["low"] <= mean <= goals["high"]  # type: ignore[index]
