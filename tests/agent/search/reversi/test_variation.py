"""The principal variation of Reversi, read from the transposition table."""

from __future__ import annotations

import random

import numpy as np

from agent.search.reversi.analysis import ReversiAnalyser
from agent.search.reversi.engine import best_known, key_of, principal_variation
from agent.search.reversi.table import NO_MOVE, position_key
from agent.search.reversi.weights.shipped import weights_for
from games.native.reversi.rules import ReversiVariant, central_start, rectangle


def test_keys_are_those_of_the_search() -> None:
    """The hash in Python agrees with the kernel's."""
    chance = random.Random(1)
    for _ in range(100):
        player, opponent = chance.getrandbits(64), chance.getrandbits(64)
        assert key_of(player, opponent) == int(position_key(np.uint64(player), np.uint64(opponent)))


def test_line_of_a_solved_board_leads_to_its_value() -> None:
    """After a search to the end, the line is legal and keeps the score."""
    variant = central_start(4, 4, rectangle(4, 4))
    position = variant.initial()
    weights = weights_for(variant)
    analyser = ReversiAnalyser(variant, weights.evaluation, weights.coefficients, megabytes=1)
    verdicts: list = []
    assert analyser.analyse(position.player, position.opponent, np.zeros(1, np.uint8), verdicts.append)
    assert verdicts[-1].proven
    line = principal_variation(analyser.table, variant, position, verdicts[-1].cell)
    assert len(line) > 3
    for colour, cell in line:
        if not variant.moves(position):
            position = variant.play(position, None)
        assert position.turn == colour
        assert variant.moves(position) >> cell & 1
        position = variant.play(position, cell)


def test_nothing_is_known_of_an_empty_table() -> None:
    """Without an entry the line is its first move."""
    variant = ReversiVariant()
    position = variant.initial()
    table = np.zeros((1024, 2), np.uint64)
    assert best_known(table, position.player, position.opponent) == NO_MOVE
    cell = variant.moves(position).bit_length() - 1
    assert principal_variation(table, variant, position, cell) == [(position.turn, cell)]
