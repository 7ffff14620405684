"""Facts that differ in one argument."""

from __future__ import annotations

from collections.abc import Sequence

from games.machine import Term


def find_groups(fluents: Sequence[Term]) -> list[list[int]]:
    """Sets of facts, by index, that differ in one argument only: contents of a cell, places of a piece."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, fluent in enumerate(fluents):
        if isinstance(fluent, tuple):
            for i in range(1, len(fluent)):
                groups.setdefault((*fluent[:i], None, *fluent[i + 1 :]), []).append(index)
    return [group for group in groups.values() if len(group) > 1]


def find_rivals(fluents: Sequence[Term]) -> list[list[int]]:
    """For each fact, those that differ from it in one argument: two pieces on a cell, a piece on two cells."""
    rivals: list[list[int]] = [[] for _ in fluents]
    for group in find_groups(fluents):
        for index in group:
            rivals[index] += [other for other in group if other != index]
    return rivals
