"""The search of the Reversi family: endings, evaluation, the transposition table, and iterative deepening."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from agent.search.alphabeta.table import new_table
from agent.search.reversi.analysis import ReversiAnalyser, ReversiVerdict
from agent.search.reversi.endings import SMALL, small_stack, solve_small
from agent.search.reversi.evaluation import BoardRules, PatternEvaluation, evaluate, pattern_set, pattern_workspace
from agent.search.reversi.search import ReversiSearcher
from agent.search.reversi.selectivity import DEFAULT_COEFFICIENTS, EXACT, margins
from agent.search.reversi.stability import stable_discs
from agent.search.reversi.weights.shipped import INNER_CORNERS, TRAINED, weights_for
from games.bits.board8x8 import FULL
from games.native.reversi.rules import ReversiPosition, ReversiVariant, cells_of, rectangle
from tests.agent.search.stopping import StopWhen

VARIANTS = [
    ReversiVariant(),
    ReversiVariant(minority=True),
    ReversiVariant(FULL & ~INNER_CORNERS),
    ReversiVariant(FULL & ~INNER_CORNERS, minority=True),
    ReversiVariant(rectangle(7, 6), (1 << 18 | 1 << 27, 1 << 19 | 1 << 26)),
]


@cache
def plain_score(variant: ReversiVariant, position: ReversiPosition) -> int:
    """The exact score for the side to move, by exhaustive search."""
    moves = variant.moves(position)
    if moves:
        return max(-plain_score(variant, variant.play(position, cell)) for cell in cells_of(moves))
    if not variant.terminal(position):
        return -plain_score(variant, ReversiPosition(position.discs, 1 - position.turn))
    margin = position.player.bit_count() - position.opponent.bit_count()
    empties = variant.empty(position).bit_count()
    return variant.sign * (margin + empties * ((margin > 0) - (margin < 0)))


def random_ply(variant: ReversiVariant, position: ReversiPosition, generator: random.Random) -> ReversiPosition:
    """The position after a random move, or a pass."""
    moves = list(cells_of(variant.moves(position)))
    return variant.play(position, generator.choice(moves) if moves else None)


def random_position(variant: ReversiVariant, empties: int, generator: random.Random) -> ReversiPosition:
    """A position with that many empty cells from a random game."""
    while True:
        position = variant.initial()
        while not variant.terminal(position) and variant.empty(position).bit_count() > empties:
            position = random_ply(variant, position, generator)
        if variant.empty(position).bit_count() == empties:
            return position


def searcher_for(variant: ReversiVariant, megabytes: int = 4) -> ReversiSearcher:
    """A searcher with the weights of the variant."""
    weights = weights_for(variant)
    board = BoardRules.of(variant)
    return ReversiSearcher(board, weights.evaluation.tables, margins(weights.coefficients), new_table(megabytes))


@pytest.mark.parametrize("variant", VARIANTS)
def test_small_endings_are_exact(variant: ReversiVariant) -> None:
    """Up to seven empty cells every window gives a bound that the true score respects."""
    generator = random.Random(1)
    words, ints = small_stack()
    nodes = np.zeros(1, np.int64)
    playable = np.uint64(variant.playable)
    for empties in [*range(SMALL + 1), 5, 6]:
        position = random_position(variant, empties, generator)
        true = plain_score(variant, position)
        player, opponent = np.uint64(position.player), np.uint64(position.opponent)
        for alpha, beta in ((-127, 127), (true - 1, true), (true, true + 1), (-1, 1), (true - 9, true - 8)):
            found = solve_small(
                player, opponent, alpha, beta, playable, variant.cells, variant.sign, words, ints, nodes
            )
            if alpha < true < beta:
                assert found == true
            elif true >= beta:
                assert beta <= found <= true
            else:
                assert true <= found <= alpha


@pytest.mark.parametrize("variant", VARIANTS)
def test_search_to_the_end_is_exact(variant: ReversiVariant) -> None:
    """The principal variation search agrees with exhaustive search, for scores and for results."""
    generator = random.Random(2)
    searcher = searcher_for(variant)
    for _ in range(3):
        position = random_position(variant, 8, generator)
        true = plain_score(variant, position)
        player, opponent = position.player, position.opponent
        assert searcher.score(player, opponent, -variant.cells, variant.cells, 64) == true
        assert np.sign(searcher.score(player, opponent, -1, 1, 64)) == np.sign(true)


@pytest.mark.parametrize(("number", "best"), [(40, 38), (41, 0)])
def test_known_endings(corpus: Path, number: int, best: int) -> None:
    """Positions of the FFO suite with 20 and 22 empty cells have their known scores."""
    line = (corpus.parent / "reversi" / "ffo-40-46.obf").read_text().splitlines()[number - 40]
    cells, side = line.split()[0], line.split()[1][0]
    discs = {mark: sum(1 << index for index, cell in enumerate(cells) if cell == mark) for mark in "XO"}
    player, opponent = discs[side], discs["O" if side == "X" else "X"]
    searcher = searcher_for(ReversiVariant(), 64)
    empties = 64 - (player | opponent).bit_count()
    for depth in range(2, 11, 2):
        searcher.score(player, opponent, -64, 64, depth, 0)
    for level in (0, 2, EXACT):
        score = searcher.score(player, opponent, -64, 64, empties, level)
    assert score == best


def test_stable_discs_are_never_turned() -> None:
    """No random continuation turns a stable disc."""
    generator = random.Random(4)
    for variant in VARIANTS:
        for _ in range(10):
            position = random_position(variant, generator.randrange(4, 20), generator)
            colours = [np.uint64(discs) for discs in position.discs]
            stable = [
                int(stable_discs(colours[colour], colours[1 - colour], np.uint64(variant.playable)))
                for colour in (0, 1)
            ]
            while not variant.terminal(position):
                position = random_ply(variant, position, generator)
            assert [stable[colour] & ~position.discs[colour] for colour in (0, 1)] == [0, 0]


def test_evaluation_is_the_same_for_images_of_a_position() -> None:
    """Mirroring and turning the board changes no score."""
    generator = random.Random(5)
    tables = weights_for(ReversiVariant()).evaluation.tables
    board = BoardRules(np.uint64(FULL), 64, 1)

    def image(discs: int, swap: bool, flip: bool) -> int:
        result = 0
        for cell in cells_of(discs):
            row, column = divmod(cell, 8)
            row, column = (column, row) if swap else (row, column)
            result |= 1 << (8 * row + (7 - column if flip else column))
        return result

    for _ in range(20):
        position = random_position(ReversiVariant(), generator.randrange(10, 50), generator)
        values = {
            int(
                evaluate(
                    np.uint64(image(position.player, swap, flip)),
                    np.uint64(image(position.opponent, swap, flip)),
                    board,
                    tables,
                    pattern_workspace(),
                )
            )
            for swap in (False, True)
            for flip in (False, True)
        }
        assert len(values) == 1


def test_weights_survive_saving(tmp_path: Path) -> None:
    """Loaded weights are the saved ones, mirror images included."""
    patterns = pattern_set(6, 5)
    generator = np.random.default_rng(0)
    evaluation = PatternEvaluation.heuristic(6, 5, 1)
    weights = generator.integers(-999, 999, evaluation.weights.shape).astype(np.int16)
    weights[:, : len(patterns.canonical)] = weights[:, patterns.canonical]
    PatternEvaluation(patterns, weights).save(tmp_path / "w.npz")
    assert (PatternEvaluation.load(tmp_path / "w.npz").weights == weights).all()


def test_weights_of_the_nearest_variant() -> None:
    """Trained variants have their own weights, others those of the nearest board, other shapes rules of thumb."""
    for name, variant in TRAINED.items():
        assert weights_for(variant).source == name
    assert weights_for(ReversiVariant(FULL & ~(1 << 18))).source == "standard"
    assert weights_for(ReversiVariant(FULL & ~(1 << 18 | 1 << 21 | 1 << 42))).source == "blocked"
    assert weights_for(ReversiVariant(rectangle(6, 6))).source == "heuristic"


@pytest.mark.parametrize("threads", [1, 2])
def test_search_stops_when_told(threads: int) -> None:
    """An endless search of the first position returns at once, and so do its side threads."""
    variant = ReversiVariant()
    weights = weights_for(variant)
    analyser = ReversiAnalyser(variant, weights.evaluation, weights.coefficients, threads=threads, megabytes=4)
    verdicts: list[ReversiVerdict] = []
    start = variant.initial()
    main = analyser._searchers[0]

    def deep() -> bool:
        return bool(verdicts) and verdicts[-1].step.depth > 8

    with StopWhen(deep, lambda: main.nodes) as stop:
        assert not analyser.analyse(start.player, start.opponent, stop.flag, verdicts.append)
        analyser.close()
    assert stop.counted is not None
    # The last cells of a line are searched without a look at the flag.
    assert main.nodes - stop.counted <= 1000


def test_analysis_proves_the_result() -> None:
    """An ending is searched until its result is proven, and the last verdict says so."""
    generator = random.Random(6)
    for variant in VARIANTS[:2]:
        weights = weights_for(variant)
        analyser = ReversiAnalyser(variant, weights.evaluation, DEFAULT_COEFFICIENTS, megabytes=4)
        position = random_position(variant, 13, generator)
        while not variant.moves(position):
            position = random_position(variant, 13, generator)
        verdicts: list[ReversiVerdict] = []
        stop = np.zeros(1, np.uint8)
        assert analyser.analyse(position.player, position.opponent, stop, verdicts.append)
        true = searcher_for(variant).score(position.player, position.opponent, -64, 64, 64)
        assert verdicts[-1].proven
        assert np.sign(verdicts[-1].score) == np.sign(true)
        after = variant.play(position, verdicts[-1].cell)
        reply = searcher_for(variant).score(after.player, after.opponent, -64, 64, 64)
        assert np.sign(-reply) == np.sign(true)
