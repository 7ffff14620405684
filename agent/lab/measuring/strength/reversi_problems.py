"""Ending problems: positions in the .obf notation of the FFO suite, and their exact solution."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from agent.search.alphabeta.table import new_table
from agent.search.alphabeta.windows import search_around
from agent.search.reversi.evaluation import BoardRules
from agent.search.reversi.search import ReversiSearcher
from agent.search.reversi.selectivity import EXACT, margins
from agent.search.reversi.weights.shipped import weights_for
from games.native.reversi.rules import ReversiVariant

_LINE = re.compile(r"([XO-]{64}) ([XO]);")
_MOVE = re.compile(r"[A-Ha-h][1-8]:([+-]\d+)")
_LEVELS = (0, 1, 2, 3, EXACT)
"""The selectivity levels of the searches to the end: each one orders the moves of the next."""
_ASPIRATION = (2, *(4,) * 19)
"""Widths in discs of the windows of a search to the end (see `search_around`). Their number is limited, as selective
searches may disagree with each other for ever. Set by hand; not tuned."""
_LOWEST, _HIGHEST = -65, 65
"""The open window: all scores lie within."""


@dataclass(frozen=True)
class Problem:
    """A position of standard Reversi, from the side to move."""

    player: int
    opponent: int
    best: int | None
    """The score in discs that the file gives, if it does."""

    @property
    def empties(self) -> int:
        """The number of empty cells."""
        return 64 - (self.player | self.opponent).bit_count()


@dataclass(frozen=True)
class Solution:
    """What was found out about a problem, and the effort."""

    score: int
    nodes: int
    seconds: float


def read_problems(text: str) -> list[Problem]:
    """The problems of an .obf file. Raises `ValueError` for a line that is none."""
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        found = _LINE.match(line)
        if found is None:
            raise ValueError(f"line {number} is no position")
        cells, side = found.groups()
        discs = {mark: sum(1 << index for index, cell in enumerate(cells) if cell == mark) for mark in "XO"}
        scores = [int(score) for score in _MOVE.findall(line)]
        other = "O" if side == "X" else "X"
        problems.append(Problem(discs[side], discs[other], max(scores, default=None)))
    return problems


def solve(problem: Problem, *, megabytes: int = 256) -> Solution:
    """The exact score of a problem on one core, with an empty table to begin with."""
    variant = ReversiVariant()
    weights = weights_for(variant)
    board = BoardRules.of(variant)
    searcher = ReversiSearcher(board, weights.evaluation.tables, margins(weights.coefficients), new_table(megabytes))
    begin = time.perf_counter()
    score = 0
    for depth in range(2, max(3, problem.empties - 8), 2):
        score = searcher.score(problem.player, problem.opponent, -64, 64, depth, 0)
    for level in _LEVELS:
        score = _around(searcher, problem, score, level)
    return Solution(score, searcher.nodes, time.perf_counter() - begin)


def _around(searcher: ReversiSearcher, problem: Problem, guess: int, level: int) -> int:
    """The score by a search to the end that begins with a narrow window around a guess."""
    score = search_around(
        guess,
        _ASPIRATION,
        _LOWEST,
        _HIGHEST,
        lambda alpha, beta: searcher.score(problem.player, problem.opponent, alpha, beta, problem.empties, level),
    )
    assert score is not None  # nobody stops it
    return score
