"""Layers of weighted states."""

from __future__ import annotations

import random

import pytest

from agent.playing.hypotheses import Layer


def test_weights_of_one_state_add_up() -> None:
    """Histories that lead to the same state are one state, as probable as all of them."""
    layer = Layer()
    for state, weight in ((b"a", 0.25), (b"b", 0.5), (b"a", 0.25)):
        layer.add(state, weight)
    assert len(layer) == 2
    rng = random.Random(1)
    assert dict(layer.draw(rng) for _ in range(2)) == pytest.approx({b"a": 0.5, b"b": 0.5})
    assert layer.explored == 1.0


def test_state_that_is_put_back_was_not_explored() -> None:
    """Neither its weight nor the share explored changes."""
    layer = Layer({b"a": 0.75, b"b": 0.25})
    layer.put_back(*layer.draw(random.Random(1)))
    assert layer.weights == {b"a": 0.75, b"b": 0.25}
    assert layer.explored == 0.0
