"""Matches at a level, over HTTP."""

from __future__ import annotations

import pytest

from agent.cli import main
from agent.commands.options import WRONG_INPUT
from agent.record.match import MatchRecord
from agent.refereeing.hosting import host_match
from tests.processes import throttled


@pytest.mark.e2e
def test_throttled_agents_play_the_same_match() -> None:
    """Two processes at a level play the same moves on a busy core, and wait for no clock."""

    def play() -> MatchRecord:
        return host_match("connect_four", ["agent:100", "agent:easy"], start_clock=600, play_clock=600)

    alone = play()
    with throttled():
        assert play().moves == alone.moves
    assert alone.players == ("agent:100", "agent:easy")
    assert not alone.errors
    # Neither waits until its clock is up.
    assert max(map(max, alone.seconds)) < 300


def test_unknown_levels_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The message names the levels."""
    assert main(["match", "tic_tac_toe", "--players", "agent:hard,random"]) == WRONG_INPUT
    assert "agent:easy, agent:normal, agent:strong" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["serve", "--level", "hard"])
    assert "easy, normal, strong" in capsys.readouterr().err
