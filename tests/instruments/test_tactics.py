"""Positions that are proven to be won or lost, and an engine's answers."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from agent.commands.options import OK, WRONG_INPUT
from agent.errors import InputError
from agent.search.engine import Engine, Limit, Opinion, Report, Score, StopFlag
from games.gdl.running.machine import CircuitMachine
from games.machine import State, Term
from tests.circuits import own_machine
from tests.instruments import tactics
from tests.instruments.__main__ import instrument
from tests.instruments.tactics_suite import (
    MOST_PLIES,
    Tactic,
    TacticsProver,
    after,
    is_tactical,
    line_of,
    make_tactics,
    read_suite,
    wins_after,
)

LONG = 60.0
"""Seconds of a proof, at most: it takes milliseconds."""


@cache
def made(name: str) -> list[Tactic]:
    """Eight positions of an own sheet."""
    return list(make_tactics(name, own_machine(name), 8, LONG, 5))


@cache
def worth(state: State) -> tuple[int, int]:
    """Minimax in tic-tac-toe: returns 1, 0 or -1 for the role that moves, and plies to the end."""
    machine = own_machine("tic_tac_toe")
    role = mover(machine, state)
    best = (-2, 0)
    for move in machine.legal(state, role):
        child = after(machine, state, role, move)
        if machine.terminal(child):
            goals = [machine.goal(child, one) or 0 for one in (role, 1 - role)]
            found = ((goals[0] > goals[1]) - (goals[0] < goals[1]), 1)
        else:
            value, plies = worth(child)
            found = (-value, plies + 1)
        best = max(best, found, key=lambda one: (one[0], -one[1] if one[0] > 0 else one[1]))
    return best


def mover(machine: CircuitMachine, state: State) -> int:
    """Returns the role that chooses; in tic-tac-toe also where only one cell is left."""
    return next(role for role in (0, 1) if machine.legal(state, role) != ["noop"])


def test_prover_agrees_with_minimax() -> None:
    """In tic-tac-toe, proven winners and plies are right, and draws stay unproven."""
    machine = own_machine("tic_tac_toe")
    prover, results = TacticsProver(machine), set()
    positions = machine.random_matches(20, 3)
    states = [machine.unpack(words) for words in positions.states[~positions.terminal]]
    # All positions after earlier ones would take seconds.
    late = [state for state in states if sum(fact[-1] == "b" for fact in machine.facts(state)) <= 3]
    assert len(late) > 40
    for state in late:
        value, plies = worth(state)
        assert prover.plies(state, mover(machine, state), LONG) == (value * plies if value else None)
        results.add(value)
    assert results == {-1, 0, 1}


@pytest.mark.parametrize("name", ["connect_four", "breakthrough"])
def test_made_positions_are_what_they_say(name: str) -> None:
    """Made positions differ, are won and lost about equally often, and a second prover agrees."""
    machine = own_machine(name)
    positions = made(name)
    assert len(positions) == len(set(positions)) == 8
    assert positions[:3] == list(make_tactics(name, machine, 3, LONG, 5))
    assert 4 <= sum(tactic.won for tactic in positions) < 8
    prover = TacticsProver(machine)
    for tactic in positions:
        assert 3 <= tactic.plies <= MOST_PLIES
        assert tactic.plies % 2 == tactic.won
        state = tactic.state(machine)
        moves = machine.legal(state, tactic.role)
        assert len(moves) > 1
        children = [after(machine, state, tactic.role, move) for move in moves]
        wins = [wins_after(machine, prover, child, tactic.role, LONG) for child in children]
        assert any(wins) == tactic.won
        if not tactic.won:
            loses = [wins_after(machine, prover, child, 1 - tactic.role, LONG) for child in children]
            assert all(loses)


def test_suite_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Also with the marks that editors and power cuts leave."""
    file = tmp_path / "suite.jsonl"
    for text in ("{}", "\ufeff{}\n", "{}\0\0\0"):
        file.write_text(text.format("".join(map(line_of, made("connect_four")))))
        assert read_suite(file) == made("connect_four")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no json", ":1: no position"),
        ('{"sheet": "x"}', "KeyError('facts')"),
        ("[1]", ":1: no position"),
        ('{"sheet": "tic_tac_toe", "facts": [], "role": 2, "won": true, "plies": 3}', "role 2"),
        ('{"sheet": "tic_tac_toe", "facts": ["(no such)"], "role": 0, "won": true, "plies": 3}', "none of this game"),
        ('{"sheet": "absent", "facts": [], "role": 0, "won": true, "plies": 3}', "absent"),
    ],
)
def test_wrong_suites_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, told: str) -> None:
    """The message names file, line and mistake."""
    file = tmp_path / "suite.jsonl"
    file.write_text(text + "\n")
    assert instrument(["tactics", str(file), "--start", "0"]) == WRONG_INPUT
    assert told in capsys.readouterr().err


def test_wrong_options_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing suite, an unknown engine and games without turns are wrong input."""
    absent = str(tmp_path / "absent")
    assert instrument(["tactics", absent]) == WRONG_INPUT
    assert instrument(["tactics", absent, "--engine", "none"]) == WRONG_INPUT
    assert instrument(["tactics", absent, "--make", "rock_paper_scissors"]) == WRONG_INPUT
    assert instrument(["tactics", str(tmp_path), "--make", "tic_tac_toe"]) == WRONG_INPUT
    told = capsys.readouterr().err
    assert "take turns" in told
    assert "there are native" in told
    assert not is_tactical(own_machine("three_way_line"))


class First(Engine):
    """Chooses the first move, or the best one of a prover, and expects `value`."""

    name = "first"

    def __init__(
        self, machine: CircuitMachine, role: int, value: float | None, choose: TacticsProver | None = None
    ) -> None:
        self._machine, self._role, self._value, self._prover = machine, role, value, choose
        self._state = machine.initial()

    def begin(self, state: State) -> None:
        self._state = state

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self._state = state

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        machine, role = self._machine, self._role
        move, *others = machine.legal(self._state, role)
        for other in others if self._prover is not None else ():
            assert self._prover is not None
            if wins_after(machine, self._prover, after(machine, self._state, role, other), role, LONG):
                move = other
        report(Opinion(move, None if self._value is None else Score(self._value)))


def test_wins_are_found_and_losses_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A perfect engine gets all positions, a poor one few; missed ones are listed."""
    machine = own_machine("connect_four")
    suite = made("connect_four")
    wins = sum(tactic.won for tactic in suite)

    def solve(value: float | None, prover: TacticsProver | None) -> dict[str, object]:
        monkeypatch.setattr(
            tactics, "make_named_engine", lambda name, machine, role: First(machine, role, value, prover)
        )
        (row,) = tactics.solve_suite(suite, "first", 5.0, 0.0, LONG)["rows"]  # type: ignore[misc, attr-defined]
        assert (row["game"], row["wins"], row["losses"]) == ("connect_four", wins, 8 - wins)
        return dict(row)

    knows = solve(0.0, TacticsProver(machine))
    assert (knows["wins_found"], knows["losses_seen"], knows["missed"]) == (wins, 8 - wins, [])
    guesses = solve(50.0, None)
    assert guesses["losses_seen"] == 0
    missed = guesses["missed"]
    assert isinstance(missed, list)
    assert len(missed) == 8 - int(str(guesses["wins_found"])) > 8 - wins
    assert {(one["value"], one["sheet"]) for one in missed} == {(50.0, "connect_four")}
    assert solve(None, None)["losses_seen"] == 0


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command makes a suite, all of which is proven; a proof ends the search, whatever the clock."""
    file, result = tmp_path / "suite.jsonl", tmp_path / "result.json"
    options = ["--make", "tic_tac_toe", "--positions", "4", "--start", "0", "--seconds", "600"]
    assert instrument(["tactics", str(file), *options, "--json", str(result)]) == OK
    assert len(read_suite(file)) == 4
    told = capsys.readouterr().out
    assert "4 positions" in told
    assert "4 of 4 positions in 600 s each (100 %)" in told
    with pytest.raises(InputError):
        read_suite(tmp_path / "absent")
    assert all(isinstance(one, Tactic) for one in read_suite(file))
