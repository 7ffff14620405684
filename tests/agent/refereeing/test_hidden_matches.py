"""Matches of the agent where information is imperfect, over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.refereeing.hosting import host_match
from tests.agent.lab.appraisal.sheets import sheet_of
from tests.agent.playing.hidden_games import BLIND_TIC_TAC_TOE, CARDS, DICE_RACE


@pytest.mark.e2e
@pytest.mark.parametrize(("source", "other"), [(DICE_RACE, "random"), (BLIND_TIC_TAC_TOE, "legal"), (CARDS, "random")])
def test_agent_plays_legal_moves_by_percepts(tmp_path: Path, source: str, other: str) -> None:
    """Dice that all see, marks that the other does not, and cards that each sees for itself."""
    record = host_match(str(sheet_of(source, tmp_path).path), ["agent", other], start_clock=10, play_clock=2)
    assert record.outcome == "finished"
    assert [error for error in record.errors if error.kind == "illegal"] == []
