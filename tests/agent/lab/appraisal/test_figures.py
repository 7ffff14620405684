"""Figures of matches made by hand, and their plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agent.lab.appraisal.figures import Figure, figures, mean_interval
from agent.lab.appraisal.match import PlayedMatch
from agent.lab.appraisal.plots import plots
from agent.lab.tally import wilson
from tests.agent.lab.appraisal.logs import DRAWN, ENDLESS, LOST, WON, match


def figure(key: str, *matches: PlayedMatch, roles: Sequence[str] = ("a", "b")) -> Figure:
    """Returns one figure of some matches."""
    return next(one for one in figures(roles, matches) if one.key == key)


def test_points_are_shared_by_the_winners() -> None:
    """A win, a draw and a loss are half of the points, with the interval of three games."""
    found = figure("advantage", WON, DRAWN, LOST)
    low, high = wilson(0.5, 3)
    assert (found.value, found.low, found.high) == (50.0, round(100 * low, 2), round(100 * high, 2))


def test_balance_compares_the_roles() -> None:
    """Three wins to one are a difference of half of the points; even results are balanced."""
    assert figure("balance", WON, WON, WON, LOST).value == 50.0
    even = figure("balance", WON, LOST)
    assert (even.value, even.high) == (100.0, 100.0)
    one_sided = figure("balance", *[WON] * 20)
    assert one_sided.value == one_sided.low == 0.0
    assert one_sided.high == pytest.approx(200 * (1 - wilson(1.0, 20)[0]), abs=0.02)


SHARED = match(goals=(50, 50, 0), values=((40, 40, 20),) * 2)
ALONE = match(goals=(0, 0, 100), values=((40, 40, 20), (10, 10, 80)))


@pytest.mark.parametrize(
    ("key", "matches", "value"),
    [
        # Of four matches with one draw and one without an end, two have a winner.
        ("drawishness", (WON, LOST, DRAWN, ENDLESS), 33.33),
        ("completion", (WON, LOST, DRAWN, ENDLESS), 50.0),
        # The winner is worth more than 75 and all that the loser ever was in the last of four positions.
        ("decisiveness", (WON,), 25.0),
        # It was above the bound before, but not for good; then, the loser had been worth more.
        ("decisiveness", (match(values=((80, 20), (70, 30), (80, 20), (90, 10))),), 50.0),
        ("decisiveness", (match(values=((15, 85), (84, 16), (86, 14), (90, 10))),), 50.0),
        ("decisiveness", (DRAWN,), None),
        # The winner is 20 behind in one position of four.
        ("drama", (WON,), 5.0),
        ("drama", (LOST,), (20 + 80) / 4),
        # Even positions, and leads below 5, change no lead.
        ("lead_changes", (WON,), 2.0),
        ("lead_changes", (match(values=((60, 40), (49, 51), (50, 50), (60, 40))),), 0.0),
        # Moves of 3, 2, 2 and 1 are 2 on average, and one position in four is forced; choices at once are multiplied.
        ("branching", (WON,), 2.0),
        ("forced", (WON,), 25.0),
        ("branching", (match(choices=((3, 3), (1, 1))),), 5.0),
        ("coverage", (WON,), 50.0),
        # Values of both roles are compared where both are known.
        ("decisiveness", (match(values=((50, None), (60, 40), (None, None), (90, 10))),), 50.0),
        ("lead_changes", (match(values=((None, 50),) * 4),), None),
        # Two winners share a point; nobody drew, as the third got less.
        ("advantage", (SHARED, ALONE), 25.0),
        ("drawishness", (SHARED, ALONE), 0.0),
        ("balance", (SHARED, ALONE), 75.0),
        ("drama", (SHARED,), 0.0),
    ],
)
def test_figures_of_matches(key: str, matches: Sequence[PlayedMatch], value: float | None) -> None:
    """Each is as its definition says, for two roles and for three."""
    assert figure(key, *matches, roles=("a", "b", "c")[: len(matches[0].goals or "ab")]).value == value


def test_duration_is_of_matches_that_ended() -> None:
    """4 and 6 plies are 5 on average, by Student's t distribution up to 17.7."""
    found = figure("duration", WON, match(plies=6), ENDLESS)
    assert (found.value, found.low, found.high, found.unit) == (5.0, 0.0, 17.71, "plies")


def test_coverage_needs_a_board() -> None:
    """Without a board there is a reason instead."""
    missing = figure("coverage", match(covered=None))
    assert (missing.value, missing.reason) == (None, "no board is found in the rules")


def test_a_single_player_has_what_makes_sense() -> None:
    """It wins by its highest goal; who is ahead of whom has no answer, and a reason."""
    won = match(goals=(100,), lowest=(0,), highest=(100,), choices=((2,),), values=((100,),))
    lost = match(goals=(50,), lowest=(0,), highest=(100,), choices=((2,),), values=((100,),))
    assert figure("completion", won, lost, roles=("robot",)).value == 50.0
    assert figure("branching", won, roles=("robot",)).value == 2.0
    for key in ("advantage", "balance", "drawishness", "decisiveness", "drama", "lead_changes"):
        found = figure(key, won, lost, roles=("robot",))
        assert (found.value, found.reason) == (None, "the game has one player")


def test_matches_without_an_end_have_no_result() -> None:
    """Figures of results say why they are missing; the others are there."""
    for key in ("advantage", "balance", "drawishness", "duration"):
        assert figure(key, ENDLESS).reason == "no match has come to an end"
    assert figure("completion", ENDLESS).value == 0.0
    assert figure("branching", ENDLESS).value == 2.0


def test_no_match_has_no_figures() -> None:
    """Before the first match everything has its name and its definition, and no value."""
    found = figures(("a", "b"), ())
    assert [one.value for one in found] == [None] * 11
    assert all(one.definition and one.source and one.reason for one in found)


def test_skill_is_the_share_of_the_stronger_player() -> None:
    """It comes first where players were unequal: two wins of the stronger, who had either role."""
    found = figures(("a", "b"), (match(strong=0), match(strong=1, goals=(0, 100))))
    assert (found[0].key, found[0].value) == ("skill", 100.0)
    assert "skill" not in {one.key for one in figures(("a", "b"), (WON,))}


def test_a_mean_of_few_numbers_has_a_wide_interval() -> None:
    """The interval of 1, 2, 3 is 2 +- 4.303 / sqrt(3); a single number has none."""
    found = mean_interval((1.0, 2.0, 3.0))
    assert found is not None
    assert found == pytest.approx((2 - 4.303 / 3**0.5, 2 + 4.303 / 3**0.5))
    assert mean_interval((1.0,)) is None


def test_plots_follow_the_plies() -> None:
    """Means are over the matches that are under way; a match after an opening begins later."""
    later = match(number=2, opening=2, plies=3, values=((30, 70),), choices=((5, 1),))
    found: dict[str, Any] = {str(plot["key"]): plot["series"] for plot in plots(("a", "b"), (WON, later))}
    assert found["values"][0] == {"name": "a", "points": [[0, 50], [1, 60], [2, 35], [3, 90]]}
    assert found["branching"][0]["points"] == [[0, 3], [1, 2], [2, 3.5], [3, 1]]
    assert found["ended"][0]["points"] == [[0, 0], [3, 0], [3, 50], [4, 50], [4, 100]]
    assert [series["name"] for series in found["matches"]] == ["match 1", "match 2"]
