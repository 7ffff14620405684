"""What docs/gdl.md and docs/competition.md say is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent.checking import insight
from agent.serving.statistics import Statistics
from tests.circuits import machine_of
from tests.matches import rules_of

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_first_rulesheet_is_well_and_won_by_the_first_player(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has less than twenty lines, no warnings, and the value that the page gives."""
    # However long a busy machine takes.
    monkeypatch.setattr(insight, "PROOF_SECONDS", 600.0)
    page = (DOCS / "gdl.md").read_text(encoding="utf-8")
    (sheet,) = re.findall(r"^```\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(sheet.splitlines()) < 20
    assert rules_of(sheet).diagnostics == ()
    assert insight.proven_values(machine_of(sheet)) == [100.0, 0.0]


def test_metrics_of_the_page_exist() -> None:
    """By the names that Prometheus sees."""
    page = (DOCS / "competition.md").read_text(encoding="utf-8")
    told = Statistics().exposition().decode()
    for name in re.findall(r"`(ggp_agent_\w+)`", page):
        assert re.search(rf"^{name}(_bucket)?[ {{]", told, re.MULTILINE), name
