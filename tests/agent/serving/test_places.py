"""Matches that make room for others."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agent.serving.places import yielding


@pytest.mark.parametrize(
    ("matches", "places", "yields"),
    [
        ("a1! a2", 2, "a1!"),
        ("a1 a2", 2, None),
        ("a1? a2?", 2, "a1?"),
        ("a1 a2?", 2, "a2?"),
        ("a1? b2?", 2, None),
        ("a1? b2? c3?", 3, None),
        ("a1? b2? a3?", 3, "a1?"),
        ("a1 b2? a3? b4? b5?", 5, "b2?"),
        ("a1? a2? me3", 3, None),
        ("a1? a2? a3? me4", 4, "a1?"),
        ("me1! a2? a3?", 3, "me1!"),
    ],
)
def test_peers_with_more_than_their_share_make_room(matches: str, places: int, yields: str | None) -> None:
    """Matches are named by peer and time: of `!` nothing was heard for long, those with `?` have not begun when they
    should have. The peer with the most gives way; whoever has its share takes nothing from others."""
    running = [
        SimpleNamespace(
            match_id=name,
            peer=name.rstrip("123456789!?"),
            heard=int("".join(filter(str.isdigit, name))),
            yields="!" in name,
            yields_to_others="?" in name,
        )
        for name in matches.split()
    ]
    found = yielding(running, "me", places)  # type: ignore[arg-type]
    assert (None if found is None else found.match_id) == yields
