"""JSON from untrusted files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest

from agent.bounded_json import MOST_LEVELS, loads


@pytest.mark.parametrize(
    "data", [None, 3, "[[{", 'a "quoted" [ \\', [[], {}], {"[": ["{", {"x": [1.5, True]}]}, [[[]]] * 1000]
)
def test_reads_what_json_reads(data: object) -> None:
    """Brackets in strings do not count, nor does their number."""
    assert loads(json.dumps(data)) == data


@pytest.mark.parametrize("text", ["", "[", '{"a": }', '"[', "]" * 100])
def test_what_is_no_json(text: str) -> None:
    """Fails as with `json.loads`."""
    with pytest.raises(json.JSONDecodeError):
        loads(text)


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
def test_deep_nesting_is_refused(opening: str) -> None:
    """Deep nesting is refused with any recursion limit, before the C stack overflows."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000_000)
    try:
        with pytest.raises(ValueError, match="levels deep"):
            loads(opening * 200_000)
    finally:
        sys.setrecursionlimit(limit)
    deep = "[" * MOST_LEVELS + "]" * MOST_LEVELS
    assert json.dumps(loads(deep)) == deep


@pytest.mark.parametrize("text", ["1e999", "[-1e999]", "NaN", '{"a": -Infinity}', "1" * 400])
def test_only_finite_numbers_are_read(text: str) -> None:
    """Browsers refuse others, and arithmetic fails on them."""
    with pytest.raises(ValueError, match="is not finite"):
        loads(text)


@pytest.mark.parametrize("end", ["", "\\", '"'])
def test_quotes_take_linear_time(end: str, grows_by_less_than: Callable[..., bool]) -> None:
    """Also where a string is full of escaped quotes, and never closed."""

    def read(n: int) -> None:
        with pytest.raises(json.JSONDecodeError):
            loads('["' + '\\"' * n + end)

    assert grows_by_less_than(8, read, 4000)
