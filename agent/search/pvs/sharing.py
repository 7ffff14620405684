"""Entries of the transposition table that searches on different machines exchange.

These are the entries of the root's children and the newest ones of some depth: costly to find, quick to send. Moves
transpose, so without them a search of one move would repeat work done under another. Programs on clusters share entries
near the root in place of a common table (Feldmann 1993).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from agent.search.alphabeta.table import places_of
from agent.search.pvs.table import DATE_AT, DEPTH_AT, EXACT, KIND_AT, LOWER, VALUE_AT
from agent.search.pvs.workspace import STORED

if TYPE_CHECKING:
    from agent.search.pvs.analysis import PvsSearcher

_BYTE = np.uint64(0xFF)


def newest_entries(searcher: PvsSearcher) -> NDArray[np.uint64]:
    """Returns the entries (n, 2) of `SHARED_DEPTH` plies or more that a search, which may be running, has stored last.

    In the table's form: an entry torn by a write fits no position.
    """
    recent = searcher.work.recent
    return recent[: min(int(searcher.work.counts[STORED]), len(recent))].copy()


def write_entries(searcher: PvsSearcher, keys: NDArray[np.uint64], data: NDArray[np.uint64]) -> None:
    """Writes data (n; 0: none) for keys (n) into the table of a search, which may be running, where it says more than
    the present entries."""
    table, date = searcher.game.table, np.uint64(searcher.date)
    places = places_of(table, keys)
    held = table[places]
    held_data = held[..., 1]
    same = ((held[..., 0] ^ held_data) == keys[:, None]) & (held_data != 0)
    # Replaces the oldest and shallowest of a bucket, as `table.store` does.
    worth = _depths(held_data) + 1000 * (held_data >> DATE_AT & _BYTE == date)
    slots = np.where(same, -1, np.where(held_data == 0, 0, worth + 1)).argmin(axis=1)
    rows = np.arange(len(keys))
    known, own = same.any(axis=1), held_data[rows, slots]
    news = (data != 0) & (~known | _says_more(data, own))
    at = places[rows, slots][news]
    entries = (data[news] & ~(_BYTE << DATE_AT)) | date << DATE_AT
    # A reader that sees only one of the two words finds nothing (see `agent.search.alphabeta.table`).
    table[at, 0] = keys[news] ^ entries
    table[at, 1] = entries


def _says_more(data: NDArray[np.uint64], own: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether an entry's data say more than another's (n each) of the same position: deeper, exact, or a closer
    bound."""
    depth, own_depth = _depths(data), _depths(own)
    kind, own_kind = data >> KIND_AT & np.uint64(3), own >> KIND_AT & np.uint64(3)
    value, own_value = data >> VALUE_AT & np.uint64(0xFFFF), own >> VALUE_AT & np.uint64(0xFFFF)
    closer = (kind == own_kind) & np.where(kind == LOWER, value > own_value, value < own_value)
    better = (own_kind != EXACT) & ((kind == EXACT) | closer)
    more: NDArray[np.bool_] = (depth > own_depth) | ((depth == own_depth) & better)
    return more


def _depths(data: NDArray[np.uint64]) -> NDArray[np.int64]:
    return (data >> DEPTH_AT & _BYTE).astype(np.int64)
