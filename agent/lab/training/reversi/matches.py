"""Matches between two ways of playing, to measure which is stronger: the same openings with both colours."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from agent.lab.tally import Score
from agent.search.reversi.analysis import ReversiAnalyser, ReversiVerdict
from games.native.reversi.rules import ReversiPosition, ReversiVariant, cells_of

OPENING_PLIES = 8
"""Random plies before the contenders take over."""


class Contender(Protocol):
    """A way of playing."""

    def choose(self, player: int, opponent: int) -> int:
        """The cell to play on; there is a legal move."""


@dataclass(frozen=True)
class Limited:
    """An analyser with a limit on its time, its depth, or both."""

    analyser: ReversiAnalyser
    seconds: float | None = None
    depth: int = 64

    def choose(self, player: int, opponent: int) -> int:
        """The analyser's best move within the limits."""
        stop = np.zeros(1, np.uint8)
        found: list[ReversiVerdict] = []
        timer = threading.Timer(self.seconds, lambda: stop.__setitem__(0, 1)) if self.seconds is not None else None
        if timer is not None:
            timer.start()
        self.analyser.analyse(player, opponent, stop, found.append, max_depth=self.depth)
        if timer is not None:
            timer.cancel()
        if not found:  # stopped before the first move was searched
            return next(cells_of(self.analyser.variant.moves_of(player, opponent)))
        return found[-1].cell


def openings(variant: ReversiVariant, count: int, seed: int, plies: int = OPENING_PLIES) -> Iterator[ReversiPosition]:
    """Different positions after `plies` uniformly random plies (passes are no plies); none is at its end."""
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
    variant: ReversiVariant, position: ReversiPosition, contenders: tuple[Contender, Contender]
) -> ReversiPosition:
    """The end of a game between colour 0 and colour 1."""
    while not variant.terminal(position):
        if not variant.moves(position):
            position = ReversiPosition(position.discs, 1 - position.turn)
            continue
        cell = contenders[position.turn].choose(position.player, position.opponent)
        position = variant.play(position, cell)
    return position


def compare(
    variant: ReversiVariant,
    first: Contender,
    second: Contender,
    games: int,
    *,
    seed: int = 0,
    progress: Callable[[Score], None] | None = None,
) -> Score:
    """The first contender's score over pairs of games from random openings."""
    score = Score()
    for position in openings(variant, (games + 1) // 2, seed):
        for colour in (0, 1):
            end = play_out(variant, position, (first, second) if colour == 0 else (second, first))
            score = score.plus(variant.result(end, colour))
            if progress is not None:
                progress(score)
    return score
