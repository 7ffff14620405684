"""JSON from untrusted files.

Python's parser recurses on the C stack, which only the recursion limit protects. The interpreter of rules raises that
limit in its process, so that a few kilobytes of brackets could crash it.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

MOST_LEVELS = 32
"""Deepest nesting accepted; our own files are much flatter."""

_BRACKET = re.compile(r"[\[\]{}]")
# Never fails once it has begun, also where the closing quote is missing, so that all text is read once.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


def loads(text: str) -> Any:
    """Parses JSON as `json.loads` does.

    Raises `ValueError` for other text, for JSON that is nested too deeply, and for numbers that are no finite floats.
    """
    level = 0
    for character in _BRACKET.findall(_STRING.sub("", text)):
        if character in "[{":
            level += 1
            if level > MOST_LEVELS:
                raise ValueError(f"nested more than {MOST_LEVELS} levels deep")
        else:
            level -= 1
    return json.loads(text, parse_float=_finite, parse_int=_integer, parse_constant=_finite)


def number(data: object) -> float:
    """Returns a number that `loads` has read; `float` would take texts such as `nan` as well.

    Raises `ValueError` for anything else.
    """
    if not isinstance(data, int | float):
        raise ValueError(f"a number expected, not {str(data)[:40]}")
    return float(data)


def _integer(text: str) -> int:
    _finite(text)
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is not finite")
    return number
