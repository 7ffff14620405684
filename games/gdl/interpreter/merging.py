"""Blocks of generated code that begin alike are joined: rules often go through the same loops one after the other."""

from __future__ import annotations

from collections.abc import Sequence


def merged(blocks: Sequence[list[str]]) -> list[str]:
    """The lines of blocks of rules, of which those that begin alike share the loops and conditions they begin with."""
    found: list[list[str]] = []
    for block in blocks:
        for i, other in enumerate(found):
            shared = _shared_headers(other, block)
            if shared:
                found[i] = other + block[shared:]
                break
        else:
            found.append(block)
    return [line for block in found for line in block]


def _shared_headers(left: list[str], right: list[str]) -> int:
    """How many lines two blocks have in common so that the rest of both can stand inside the last of them."""
    # A nest of loops and conditions with nothing behind it, from inside which nothing goes on with another binding.
    shared = 0
    for i, (line, other) in enumerate(zip(left, right, strict=False)):
        if line != other:
            break
        header = line.lstrip()
        if not header.startswith(("if ", "for ")) or not header.endswith(":"):
            continue
        inside = len(line) - len(header)
        if any(len(rest) - len(rest.lstrip()) <= inside for rest in (*left[i + 1 :], *right[i + 1 :])):
            break
        if header.startswith("for ") and any("continue" in rest for rest in (*left[i + 1 :], *right[i + 1 :])):
            break
        shared = i + 1
    return shared
