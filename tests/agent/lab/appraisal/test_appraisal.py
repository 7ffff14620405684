"""Whole appraisals of small games: matches, figures and problems."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.cli import main
from agent.commands.options import INTERRUPTED, OK
from agent.errors import InputError
from agent.lab.appraisal.match import RandomSurvey, Seen
from agent.lab.appraisal.playing import AppraisalSettings, Appraiser, smoothed
from agent.lab.appraisal.problems import problems
from agent.lab.appraisal.report import Report
from agent.lab.appraisal.series import ENDLESS_MATCHES, appraise
from agent.lab.commands import balance
from agent.lab.jobs.executor import Executor, Task
from agent.lab.jobs.inline import InlineExecutor
from agent.sheet import load
from games.gdl.interpreter.machine import Interpreter
from tests.agent.commands import start_command
from tests.agent.lab.appraisal.logs import ENDLESS as WITHOUT_END
from tests.agent.lab.appraisal.logs import WON, match
from tests.agent.lab.appraisal.sheets import DEAD, ENDLESS, STUCK, UNWINNABLE, sheet_of
from tests.agent.playing.hidden_games import MONTY_HALL

SETTINGS = AppraisalSettings(seconds=0.002, seed=1, most_plies=12)


def appraised(text: str, folder: Path, matches: int, settings: AppraisalSettings = SETTINGS) -> Report:
    """Plays matches in this process."""
    return appraise(sheet_of(text, folder), settings, matches, InlineExecutor())[0]


def texts(report: Report, kind: str) -> list[str]:
    """Returns the problems of a kind."""
    return [problem.text for problem in report.problems if problem.kind == kind]


def values(report: Report) -> dict[str, float | None]:
    """Returns the figures by key."""
    return {figure.key: figure.value for figure in report.figures}


def test_a_game_without_an_end_is_given_up(tmp_path: Path) -> None:
    """Its matches end at the bound, and after a few of them no more are played; rules about its end never fired."""
    report = appraised(ENDLESS, tmp_path, 10)
    assert [match.outcome for match in report.matches] == ["endless"] * ENDLESS_MATCHES
    assert [match.plies for match in report.matches] == [SETTINGS.most_plies] * ENDLESS_MATCHES
    assert texts(report, "endless")[0].startswith("3 of 3 matches had no end within 12 plies; of ")
    assert {problem.line for problem in report.problems if problem.kind == "rule"} == {11, 12}
    found = values(report)
    assert (found["completion"], found["advantage"], found["branching"]) == (0.0, None, 1.0)


def test_a_role_that_cannot_win_is_told(tmp_path: Path) -> None:
    """The second role loses each match, those at random included, and that is a problem after some matches."""
    report = appraised(UNWINNABLE, tmp_path, 5)
    assert texts(report, "low") == ["slow never got more than its lowest goal, 0, in 5 matches and 512 random ones"]
    found = values(report)
    assert (found["advantage"], found["balance"], found["drawishness"]) == (100.0, 0.0, 0.0)


def test_an_interrupted_appraisal_goes_on_from_its_log(tmp_path: Path) -> None:
    """Only the matches that the log lacks are played, and the report is that of all; another series is refused."""
    sheet, log = sheet_of(UNWINNABLE, tmp_path), tmp_path / "log"
    appraise(sheet, SETTINGS, 3, InlineExecutor(), log=log)
    begun: list[Report] = []
    report, _ = appraise(sheet, SETTINGS, 5, InlineExecutor(), lambda one: begun.append(replace(one)), log=log)
    assert begun[0].pace is not None
    assert begun[0].pace.known == 3
    assert len(log.read_text().splitlines()) == 5
    whole = appraise(sheet, SETTINGS, 5, InlineExecutor())[0]
    assert [match.number for match in report.matches] == [1, 2, 3, 4, 5]
    assert report.problems == whole.problems
    assert texts(report, "low") == ["slow never got more than its lowest goal, 0, in 5 matches and 512 random ones"]
    with pytest.raises(InputError, match="a log of another series, seed is 1 instead of 2"):
        appraise(sheet, replace(SETTINGS, seed=2), 5, InlineExecutor(), log=log)


def test_players_see_what_their_role_may_see(tmp_path: Path) -> None:
    """A guest that cannot see the car loses some matches, and makes no illegal move."""
    report = appraised(MONTY_HALL, tmp_path, 30)
    won = [match.goals == (100,) for match in report.matches]
    assert any(won)
    assert not all(won)
    assert {(match.plies, match.opening, match.errors) for match in report.matches} == {(4, 0, 0)}


def test_players_at_a_level_end_their_turns_where_the_state_is_hidden(tmp_path: Path) -> None:
    """They have no clock, but a number of playouts."""
    report = appraised(MONTY_HALL, tmp_path, 2, replace(SETTINGS, levels=True))
    assert [(match.plies, match.errors) for match in report.matches] == [(4, 0)] * 2


def test_a_role_without_moves_is_told(tmp_path: Path) -> None:
    """The match has no result then."""
    report = appraised(STUCK, tmp_path, 2)
    assert [match.outcome for match in report.matches] == ["stalled"] * 2
    assert texts(report, "stuck") == ["b had no legal move before the end in 2 of 2 matches"]
    assert values(report)["completion"] == 0.0


def test_rules_that_never_fire_have_their_line(tmp_path: Path) -> None:
    """Those of the text: a rule that needs what never is, and what follows from it."""
    report = appraised(DEAD, tmp_path, 3)
    lines = {problem.line for problem in report.problems if problem.kind == "rule"}
    assert lines == {6, 8, 9, 10}
    assert texts(report, "endless") == texts(report, "stuck") == texts(report, "low") == []


def test_a_game_without_a_player_is_refused(tmp_path: Path) -> None:
    """Nature alone has nobody to be fair to."""
    text = "(role random) (init (on)) (<= (legal random wait) (true (on))) (<= terminal (true (on))) (goal random 0)"
    with pytest.raises(InputError, match="no role"):
        appraised(text, tmp_path, 1)


def test_moves_that_were_never_legal_are_named() -> None:
    """In the positions of matches and of random play; a few of many are named."""
    moves = tuple(f"(m {n})" for n in range(8))
    survey = RandomSurvey(matches=4, ended=4, moves=(moves, ("noop",)), seen=Seen(9, legal=frozenset({(0, "(m 0)")})))
    seen = Seen(5, legal=frozenset({(0, "(m 1)"), (1, "noop")}))
    found = [one.text for one in problems(load("tic_tac_toe"), ("a", "b"), [WON], seen, survey=survey)]
    assert found == [
        "6 of 8 moves of a were never legal in 5 positions, nor in 4 random matches: "
        "(m 2), (m 3), (m 4), (m 5), (m 6), .."
    ]


def test_other_problems_are_counted() -> None:
    """Moves that a search failed to choose, matches that were lost, and rules that cannot be told."""
    found = problems(load("tic_tac_toe"), ("a", "b"), [match(errors=2), WITHOUT_END], Seen(), frozenset({0}), lost=1)
    assert [one.kind for one in found] == ["endless", "unknown", "failed", "lost"]
    assert found[1].line is not None


def test_weak_play_is_told() -> None:
    """Rules without a circuit are not played well; the survey has no random matches of them."""
    found = problems(load("tic_tac_toe"), ("a", "b"), [WON], Seen(), survey=RandomSurvey())
    assert [one.kind for one in found] == ["weak"]


def test_few_matches_say_nothing_about_low_goals() -> None:
    """A role may lose four times; five ask for a word, unless it wins at random."""
    sheet, roles = load("tic_tac_toe"), ("a", "b")
    assert not problems(sheet, roles, [WON] * 4, Seen())
    assert [one.kind for one in problems(sheet, roles, [WON] * 5, Seen())] == ["low"]
    assert not problems(sheet, roles, [WON] * 5, Seen(), survey=RandomSurvey(matches=9, ended=9, best=(100, 100)))


def test_strong_play_draws_tic_tac_toe() -> None:
    """From varied openings that leave it drawn; the whole board is covered, and every rule has fired."""
    # The search ends sooner, with a proof.
    report, interrupted = appraise(load("tic_tac_toe"), AppraisalSettings(2.0, 1), 4, InlineExecutor())
    found = values(report)
    assert not interrupted
    assert (found["drawishness"], found["coverage"], found["duration"], found["completion"]) == (100, 100, 9, 0)
    assert [match.opening for match in report.matches] == [0, 1, 2, 3]
    assert report.problems == []
    assert report.done


def test_values_are_averaged_over_two_turns() -> None:
    """The lead of whoever is to move vanishes; what is proven stays as it is, and so does what is not known."""
    values = [[60.0, 40.0], [44.0, 56.0], [62.0, 38.0], [100.0, 0.0], [None, 50.0], [80.0, 50.0]]
    choices = [[2, 1], [1, 2]] * 3
    proven = [False, False, False, True, False, False]
    assert smoothed(values, choices, proven) == [(60, 40), (52, 48), (53, 47), (100, 0), (None, 25), (80, 50)]
    assert smoothed([], [], []) == []


def test_a_turn_may_take_several_plies() -> None:
    """Each is averaged with the last of the others; a forced ply belongs to the turn, and choices at once are one."""
    values = [[60.0, 40.0], [62.0, 38.0], [40.0, 60.0], [44.0, 56.0], [50.0, 50.0]]
    choices = [[3, 1], [2, 1], [1, 3], [1, 1], [2, 1]]
    assert smoothed(values, choices, [False] * 5) == [(60, 40), (62, 38), (51, 49), (53, 47), (47, 53)]
    assert smoothed(values, [[2, 2]] * 5, [False] * 5) == [tuple(position) for position in values]


def test_openings_belong_to_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first match has none, the others one of 1, 2, .. plies; where all change what the game is worth, none."""
    worths: list[float | None] = [50.0, 50.0]
    monkeypatch.setattr(Appraiser, "_worths", lambda *_: worths)
    sheet = load("tic_tac_toe")
    appraisers = [Appraiser(AppraisalSettings(0.001, seed), sheet) for seed in (1, 1, 2)]
    first, again, other = ([one._opening(number) for number in range(1, 7)] for one in appraisers)
    assert first == again != other
    assert [len(opening) for opening in first] == [0, 1, 2, 3, 4, 1]
    worths = [61.0, 39.0]
    assert [appraisers[0]._opening(number) for number in range(1, 4)] == [[], [], []]


def test_skill_does_not_decide_a_race_that_one_role_always_wins(tmp_path: Path) -> None:
    """With levels each role is played by the stronger player in turn."""
    report = appraised(UNWINNABLE, tmp_path, 4, replace(SETTINGS, levels=True))
    assert [match.strong for match in report.matches] == [0, 1, 0, 1]
    found = values(report)
    assert (found["skill"], found["advantage"]) == (50.0, 100.0)
    assert report.figures[0].key == "skill"


@pytest.mark.parametrize("name", ["rock_paper_scissors", "three_way_line", "eight_puzzle"])
def test_games_of_any_number_of_roles(name: str) -> None:
    """Choices at once, three roles, and one: each figure has a value or a reason, and a match its line."""
    report, _ = appraise(load(name), AppraisalSettings(0.005, 1, most_plies=40), 1, InlineExecutor())
    assert all((figure.value is None) == (figure.reason is not None) for figure in report.figures)
    assert len(report.matches[0].values) == len(report.matches[0].choices)
    json.dumps(report.whole())


def test_a_game_without_a_circuit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Monte-Carlo search plays it by the interpreter; there are no random matches, and no list of moves."""
    monkeypatch.setattr("agent.sheet.Sheet.machine", lambda sheet: Interpreter(sheet.checked))
    report, _ = appraise(load("tic_tac_toe"), AppraisalSettings(0.01, 1), 1, InlineExecutor())
    assert report.matches[0].outcome == "finished"
    assert not texts(report, "move")


class Interrupted(InlineExecutor):
    """Is interrupted after a match."""

    def run(self, session: Any, tasks: Sequence[Task[Any]], tell: Any = None) -> Any:
        """Yields the events of one task."""
        yield from super().run(session, tasks[:1])
        raise KeyboardInterrupt


def test_an_interrupted_appraisal_has_what_was_played(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its table and its JSON are those of the matches so far, and its status is that of an interruption."""
    monkeypatch.setattr(balance, "executor", lambda *_: Interrupted())
    file = tmp_path / "report.json"
    assert main(["balance", "tic_tac_toe", "--seconds", "0.01", "--json", str(file)]) == INTERRUPTED
    written = json.loads(file.read_text())
    assert (written["matches"], written["of"], written["done"], len(written["played"])) == (1, 20, True, 1)
    assert "drawishness" in capsys.readouterr().out


def test_each_line_is_the_whole_report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One at the beginning, one after each match, and one at the end, as JSON and nothing else."""
    executor: Executor = InlineExecutor()
    monkeypatch.setattr(balance, "executor", lambda *_: executor)
    assert main(["balance", "tic_tac_toe", "--matches", "2", "--seconds", "0.01", "--json-lines"]) == OK
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["matches"], line["of"], line["done"]) for line in lines] == [
        (0, 2, False),
        (1, 2, False),
        (2, 2, False),
        (2, 2, True),
    ]
    known = {"game", "roles", "matches", "of", "seconds", "seconds_left", "done", "figures", "problems", "plots"}
    assert set(lines[-1]) == known
    assert [line["seconds_left"] is None for line in lines] == [True, False, False, True]
    assert {"key", "name", "value", "low", "high", "unit", "definition", "source"} <= set(lines[-1]["figures"][0])


@pytest.mark.e2e
def test_sigterm_ends_it_with_what_it_has() -> None:
    """A process with workers ends by itself, after a last line."""
    arguments = ("balance", "tic_tac_toe", "--seconds", "0.01", "--matches", "100000", "--json-lines")
    with start_command(*arguments) as process:
        assert process.stdout is not None
        lines = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.send_signal(signal.SIGTERM)
        rest = [json.loads(line) for line in process.stdout]
    assert process.returncode == INTERRUPTED
    assert [line["matches"] for line in lines] == [0, 1, 2]
    assert rest[-1]["done"]
    assert rest[-1]["matches"] >= 2
