"""Reversi endings: positions in the .obf notation of the FFO suite, and their exact solution."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from agent.search.alphabeta.table import new_table
from agent.search.reversi.evaluation import BoardRules
from agent.search.reversi.search import ReversiSearcher
from agent.search.reversi.selectivity import EXACT, margins
from agent.search.reversi.weights.shipped import weights_for
from games.native.reversi.rules import ReversiVariant

_LINE = re.compile(r"([XO-]{64}) ([XO]);")
_MOVE = re.compile(r"[A-Ha-h][1-8]:([+-]\d+)")
_LEVELS = (0, 1, 2, 3, EXACT)
"""Selectivity levels of the searches to the end: each orders the moves of the next."""
_WIDTHS = (2, *(4,) * 20)
"""Widths in discs of the windows of a search to the end, to either side of the guess at first, then beyond the last
score. A limited number, as selective searches may disagree for ever."""
_LOWEST, _HIGHEST = -65, 65
"""The open window, which holds all scores."""


@dataclass(frozen=True)
class Problem:
    """A position of standard Reversi, from the side to move."""

    player: int
    opponent: int
    best: int | None
    """Best score in the file, in discs; None if it gives none."""

    @property
    def empties(self) -> int:
        """Number of empty cells."""
        return 64 - (self.player | self.opponent).bit_count()


@dataclass(frozen=True)
class Solution:
    """The score of a problem, and the effort."""

    score: int
    nodes: int
    seconds: float


def read_problems(text: str) -> list[Problem]:
    """Returns the problems of an .obf file. Raises `ValueError` for a line that is none, and for a file without one."""
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
    if not problems:
        raise ValueError("no position")
    return problems


def solve(problem: Problem, *, megabytes: int = 256) -> Solution:
    """Returns the exact score of a problem; one core, an empty table at first."""
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
    """Returns the score by a search to the end: in narrow windows around a guess, which move while it fails."""
    alpha, beta = guess - _WIDTHS[0], guess + _WIDTHS[0]
    for width in _WIDTHS[1:]:
        score = searcher.score(problem.player, problem.opponent, alpha, beta, problem.empties, level)
        if alpha < score < beta:
            return score
        alpha, beta = (score - width, score + 1) if score <= alpha else (score - 1, score + width)
        alpha, beta = max(_LOWEST, alpha), min(_HIGHEST, beta)
    return searcher.score(problem.player, problem.opponent, _LOWEST, _HIGHEST, problem.empties, level)
