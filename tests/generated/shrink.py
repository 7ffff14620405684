"""Makes a rulesheet that shows a fault small, by leaving out what the fault does not need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

Term = Any
Sheet = tuple[Term, ...]


def shrunk(sheet: Sequence[Term], shows: Callable[[Sheet], bool], most: int = 2000) -> Sheet:
    """A smaller sheet that still shows the fault, after at most so many tries.

    `shows` must be False for sheets that mean nothing.
    """
    best = tuple(sheet)
    tries = 0
    step = max(1, len(best) // 2)
    while step:
        start = 0
        while start < len(best) and tries < most:
            tries += 1
            shorter = best[:start] + best[start + step :]
            if shows(shorter):
                best = shorter
            else:
                start += step
        step //= 2
    found = True
    while found and tries < most:
        found = False
        for simpler in _simpler(best):
            tries += 1
            if shows(simpler):
                best, found = simpler, True
                break
            if tries >= most:
                break
    return best


def _simpler(sheet: Sheet) -> Iterator[Sheet]:
    """The sheet without one statement, or with one body that is simpler by one step."""
    for i, statement in enumerate(sheet):
        yield sheet[:i] + sheet[i + 1 :]
        if statement[0] == "<=":
            for body in _simpler_parts(statement[2:]):
                simpler = (*statement[:2], *body) if body else statement[1]
                yield (*sheet[:i], simpler, *sheet[i + 1 :])


def _simpler_parts(parts: Sequence[Term]) -> Iterator[tuple[Term, ...]]:
    for i, part in enumerate(parts):
        before, after = tuple(parts[:i]), tuple(parts[i + 1 :])
        yield before + after
        if isinstance(part, tuple) and part[0] in ("or", "and"):
            for branch in part[1:]:
                yield (*before, branch, *after)
            for inside in _simpler_parts(part[1:]):
                if inside:
                    yield (*before, (part[0], *inside), *after)
