"""Matches between two ways of playing: the same openings with both colours."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from agent.lab.tally import Tally
from agent.search.reversi.analysis import ReversiAnalyser, ReversiVerdict
from games.native.reversi.rules import ReversiPosition, ReversiVariant, cells_of

OPENING_PLIES = 8
"""Random plies before the contenders take over."""


class TrainingContender(Protocol):
    """A way of playing."""

    def choose(self, player: int, opponent: int) -> int:
        """Returns the cell to play on; there is a legal move."""


@dataclass(frozen=True)
class Limited:
    """An analyser with a limit on its depth."""

    analyser: ReversiAnalyser
    depth: int

    def choose(self, player: int, opponent: int) -> int:
        """Returns the analyser's best move at that depth; the first legal move if it has none."""
        found: list[ReversiVerdict] = []
        self.analyser.analyse(player, opponent, np.zeros(1, np.uint8), found.append, max_depth=self.depth)
        if not found:
            # The first step of the analyser's schedule is deeper than the limit.
            return next(cells_of(self.analyser.variant.moves_of(player, opponent)))
        return found[-1].cell


def openings(variant: ReversiVariant, count: int, seed: int, plies: int = OPENING_PLIES) -> Iterator[ReversiPosition]:
    """Yields different positions after uniformly random plies (passes are no plies); none ends the game."""
    generator = random.Random(seed)
    seen: set[ReversiPosition] = set()
    tries = 0
    while len(seen) < count and tries < 100 * count:
        tries += 1
        position = variant.initial()
        for _ in range(plies):
            moves = list(cells_of(variant.moves(position)))
            if not moves and not variant.terminal(position):
                position = ReversiPosition(position.discs, 1 - position.turn)
                moves = list(cells_of(variant.moves(position)))
            if not moves:
                break
            position = variant.play(position, generator.choice(moves))
        if not variant.terminal(position) and position not in seen:
            seen.add(position)
            yield position


def play_out(
    variant: ReversiVariant, position: ReversiPosition, contenders: tuple[TrainingContender, TrainingContender]
) -> ReversiPosition:
    """Plays a game between colour 0 and colour 1; returns its last position."""
    while not variant.terminal(position):
        if not variant.moves(position):
            position = ReversiPosition(position.discs, 1 - position.turn)
            continue
        cell = contenders[position.turn].choose(position.player, position.opponent)
        position = variant.play(position, cell)
    return position


def compare(
    variant: ReversiVariant,
    first: TrainingContender,
    second: TrainingContender,
    games: int,
    *,
    seed: int = 0,
) -> Tally:
    """Plays pairs of games from random openings; returns the tally of the first contender."""
    tally = Tally()
    for position in openings(variant, (games + 1) // 2, seed):
        for colour in (0, 1):
            end = play_out(variant, position, (first, second) if colour == 0 else (second, first))
            tally = tally.plus(variant.result(end, colour))
    return tally
