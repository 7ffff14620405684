"""Files of JSON lines, whole and damaged."""

from __future__ import annotations

import pytest

from agent.json_lines import read_lines


@pytest.mark.parametrize(
    ("data", "read"),
    [
        (b'{"a": 1}\n{"a": 2}\n', [(1, {"a": 1}), (2, {"a": 2})]),
        (b'\xef\xbb\xbf{"a": 1}\r\n\r\n{"a": 2}', [(1, {"a": 1}), (3, {"a": 2})]),
        (b'{"a": 1}\n\0\0{"a": 2}\n\0\0', [(1, {"a": 1}), (2, {"a": 2})]),
        (b'{"a\n[1]\n\xff\n{"a": 1}\n{"a', [(1, None), (2, None), (3, None), (4, {"a": 1})]),
        (b"", []),
    ],
)
def test_lines_around_damaged_ones_are_read(data: bytes, read: list[object]) -> None:
    """Damaged lines are told apart from the rest of a line, of blanks and of zeros, which count for nothing."""
    assert list(read_lines(data)) == read
