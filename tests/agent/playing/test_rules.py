"""Which rules of a START are played."""

from __future__ import annotations

import pytest

from agent.playing.messages import Refused
from agent.playing.rules import check_rules
from protocol.kif import read_rulesheet
from protocol.messages import Start

GAME = "(role a) (init s) (legal a go) (<= (next t) (does a go)) (<= terminal (true t)) (goal a 100)"


@pytest.mark.parametrize(
    ("extra", "refused"),
    [
        ("(<= (goal a 50) (does a go))", None),
        ("(<= (legal ?who wave) (true s))", None),
        ("(<= (init u) (true s))", "line 1, column 93: `init` depends on the state"),
    ],
)
def test_what_a_manager_sends_is_played_if_it_has_a_meaning(extra: str, refused: str | None) -> None:
    """`does` below `goal` is an error for authors alone; a state-dependent `init` is one for managers, too."""
    text = GAME + extra
    found = check_rules(Start("m", "a", read_rulesheet(text), 10, 10, source=text))
    assert (found.reason if isinstance(found, Refused) else None) == refused
