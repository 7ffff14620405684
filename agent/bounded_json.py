"""JSON from files that anything may have happened to.

Python's parser recurses on the C stack, and is kept from overrunning it by the recursion limit only. The interpreter of
rules raises that limit for its process, so that a few kilobytes of brackets would end it.
"""

from __future__ import annotations

import json
import re
from typing import Any

MOST_LEVELS = 32
"""How deep what we write ourselves may be nested; it is much flatter."""

_BRACKET = re.compile(r"[\[\]{}]")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def loads(text: str) -> Any:
    """What `json.loads` returns. Raises `ValueError` for what is no JSON, or nested too deeply."""
    level = 0
    for character in _BRACKET.findall(_STRING.sub("", text)):
        if character in "[{":
            level += 1
            if level > MOST_LEVELS:
                raise ValueError(f"nested more than {MOST_LEVELS} levels deep")
        else:
            level -= 1
    return json.loads(text)
