"""Operations on terms."""

from __future__ import annotations

from games.gdl.rules.terms import resolve, unify


def test_unify() -> None:
    """Unification finds most general unifiers and refuses infinite terms."""
    binding = unify(("f", "?x", "?y"), ("f", "?y", ("g", "a")))
    assert binding is not None
    assert resolve("?x", binding) == ("g", "a")
    assert unify("?x", ("f", "?x")) is None
    assert unify("a", "b") is None
