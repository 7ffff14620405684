"""Merges blocks of generated code with a common beginning: rules often share their outer loops."""

from __future__ import annotations

from collections.abc import Sequence


def merged(blocks: Sequence[list[str]]) -> list[str]:
    """The lines of all blocks; blocks that begin alike share these loops and conditions."""
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
    """Number of leading lines common to two blocks, such that both remainders can stand inside the last of them."""
    # Only nested loops and conditions with nothing after them, from inside which nothing continues a loop.
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
