"""Files of JSON objects, one a line, that may have been damaged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent import bounded_json


def read_lines(data: bytes) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yields the number and the object of each line; None for a damaged line.

    An unfinished last line, blank lines, NUL bytes around a line and a byte order mark are skipped: a kill, a power cut
    or an editor leaves such.
    """
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if text := line.strip(b"\0 \t\r"):
            try:
                row = bounded_json.loads(text.decode("utf-8-sig"))
            except ValueError:
                row = None
            if isinstance(row, dict):
                yield number, row
            elif number < len(lines):
                yield number, None
