"""Steps from rules to circuits, left out one by one."""

from __future__ import annotations

import pytest

from games import rulesheets
from tests.instruments import ablation


def test_what_is_left_out_shows_in_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sheet whose rules are split grounds to more literals when they are not; what fails counts as lost."""
    failing = {"failing": [(ablation.ground, "ground", None)]}
    steps = {name: ablation.GROUNDING[name] for name in ("whole", "splitting")}
    monkeypatch.setattr(ablation, "GROUNDING", steps | failing)
    monkeypatch.setattr(ablation, "INTERPRETING", {"whole": [], "inlining": ablation.INTERPRETING["inlining"]})
    rows = list(ablation.summary(ablation.cases("hex", rulesheets.text("hex"))))
    assert [(row["without"], row["lost"]) for row in rows] == [("splitting", 0), ("failing", 1), ("inlining", 0)]
    assert rows[0]["literals_most"] > 1
    assert rows[2]["statements_least"] > 1
