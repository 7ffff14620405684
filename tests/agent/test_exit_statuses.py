"""Exit statuses of commands: scripts go by them."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent.checking import ping
from agent.cli import main
from agent.commands.options import DIFFERENT, INTERRUPTED, OK, WRONG_INPUT
from agent.lab.commands import tournament
from agent.refereeing import hosting
from games.families import Family
from games.machine import LimitError
from tests.agent.lab.jobs.losing import Loser
from tests.instruments import gaps, soak
from tests.instruments.__main__ import instrument
from tests.instruments.gaps import GapRecord
from tests.instruments.soak import SoakReport

DEAD_END = """
(role a) (init (f 1)) (<= (legal a go) (true (f 1))) (<= (next (f 2)) (does a go))
(<= terminal (true (f 3))) (goal a 0)
"""


def test_match_without_a_move_to_make(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A match that stalls has no result, which is told from one that ends."""
    file = tmp_path / "dead_end.kif"
    file.write_text(DEAD_END)
    assert main(["match", str(file), "--players", "legal"]) == DIFFERENT
    file.write_text(DEAD_END.replace("(f 3)", "(f 2)"))
    assert main(["match", str(file), "--players", "legal"]) == OK


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (LimitError("too large"), DIFFERENT, "these rules cannot be played: too large\n"),
        (KeyboardInterrupt(), INTERRUPTED, "interrupted\n"),
    ],
)
def test_commands_that_break_off(
    error: BaseException, status: int, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rules beyond the limits and Ctrl-C leave one line, and no traceback."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(hosting, "host_match", fail)
    assert main(["match", "tic_tac_toe", "--players", "random,random"]) == status
    assert capsys.readouterr().err == told


def test_tournament_that_loses_a_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """A match that was lost twice with its worker is missing from the table."""
    monkeypatch.setattr(tournament, "executor", lambda *_: Loser())
    assert main(["tournament", "tic_tac_toe", "--players", "random,legal"]) == DIFFERENT


@pytest.mark.parametrize(("well", "status"), [(True, OK), (False, DIFFERENT)])
def test_ping(well: bool, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A player that managers cannot play with fails it."""
    finding = SimpleNamespace(level="good" if well else "problem", about="INFO", text="answered", advice="")

    async def found(url: str, **_: object) -> SimpleNamespace:
        return SimpleNamespace(url=url, findings=[finding], well=well, as_json=lambda: {})

    monkeypatch.setattr(ping, "ping", found)
    assert main(["ping", "http://player"]) == status
    assert ("WRONG" in capsys.readouterr().out) == (not well)


@pytest.fixture
def _own_signals() -> Iterator[None]:
    """Restores the handler that `soak` replaces."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("_own_signals")
@pytest.mark.parametrize(("late", "illegal", "status"), [(0, 0, OK), (1, 0, DIFFERENT), (0, 1, DIFFERENT)])
def test_soak(late: int, illegal: int, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A late or an illegal reply fails it."""
    monkeypatch.setattr(soak, "soak", lambda *_: SoakReport(turns=2, late=late, illegal=illegal))
    assert instrument(["soak", "tic_tac_toe"]) == status


@pytest.mark.parametrize(("illegal", "status"), [((1, 1), OK), ((0, 2), DIFFERENT), ((2, 0), DIFFERENT)])
def test_gaps(illegal: tuple[int, int], status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One illegal move after a gap may be bad luck; a second one in any match fails it."""
    monkeypatch.setattr(gaps, "play_match", lambda machine, seed: GapRecord(seed, 1, 0, illegal=illegal[seed]))
    assert instrument(["gaps", "tic_tac_toe", "--matches", "2"]) == status


@pytest.mark.parametrize(("agreeing", "status"), [(10, OK), (9, DIFFERENT)])
def test_native_rules_that_differ(agreeing: int, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A position in which native rules and circuit differ fails the comparison."""
    monkeypatch.setattr(Family, "recognise", lambda *_: SimpleNamespace(variant="any"))
    monkeypatch.setattr(Family, "count_agreeing", lambda *_, **__: agreeing)
    assert main(["lab", "conform", "--native", "tic_tac_toe", "--positions", "10"]) == status


BEST, WRONG = "A8:+64", "A8:+62"

BOARD = "X" * 56 + "-" + "O" * 6 + "X"
"""X takes the corner that is left, and so all discs of the last row."""


@pytest.mark.parametrize(
    ("lines", "options", "statuses"),
    [
        ([BEST], [], [True]),
        ([WRONG], [], [False]),
        ([BEST, WRONG], [], [True, False]),
        ([BEST, WRONG], ["--count", "1"], [True]),
        ([""], [], [True]),
    ],
)
def test_solve(
    lines: list[str], options: list[str], statuses: list[bool], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A score that is not the best one of the file fails it; a position without scores cannot."""
    file, result = tmp_path / "problems.obf", tmp_path / "result.json"
    # As editors of other systems save it.
    file.write_text("".join(f"{BOARD} X; {scores}\n" for scores in lines), encoding="utf-8-sig")
    status = instrument(["solve", str(file), "--megabytes", "1", "--json", str(result), *options])
    assert status == (OK if all(statuses) else DIFFERENT)
    rows: list[dict[str, Any]] = json.loads(result.read_text())
    assert [row["right"] for row in rows] == statuses
    assert {row["score"] for row in rows} == {64}
    assert capsys.readouterr().out.count("(WRONG)") == statuses.count(False)


@pytest.mark.parametrize("text", [None, "nothing\n", "\n"])
def test_solve_without_problems(text: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is not there, or holds no position, is wrong input."""
    file = tmp_path / "problems.obf"
    if text is not None:
        file.write_text(text)
    assert instrument(["solve", str(file)]) == WRONG_INPUT
    assert str(file) in capsys.readouterr().err
