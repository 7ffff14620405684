"""Boards found among the facts of games by their structure alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.boards.board import Board
from agent.boards.layout import Layout
from games.machine import Term
from protocol.kif import read, read_rulesheet, write
from protocol.scramble import make_scrambler
from tests.agent.boards.states import Sheet, recorded


def boards_of(corpus: Path, name: str) -> tuple[Board, ...]:
    """Returns the boards found from the first state and the rules of a sheet of the corpus."""
    rules, steps = recorded(corpus, name)
    return Layout(steps[0].facts, rules).boards


def sizes(board: Board) -> list[int]:
    """Returns the number of values of each argument of a square."""
    return [len(axis) for axis in board.axes]


def scrambled(rules: tuple[Term, ...], style: str) -> tuple[Term, ...]:
    """Scrambles the names of a rulesheet as a manager does."""
    scrambler = make_scrambler(style, seed=7)  # type: ignore[arg-type]
    return read_rulesheet(" ".join(write(scrambler.scramble(statement)) for statement in rules))


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("reversi", [8, 8]),
        ("reversi_holes", [8, 8]),
        ("reversi_keep_turn", [8, 8]),
        ("reversi_tally", [8, 8]),
        ("blokbox", [14, 14]),
        ("breakthrough", [8, 8]),
        ("connect_four", [7, 6]),
        ("eight_puzzle", [3, 3]),
        ("three_way_line", [5, 5]),
        ("tic_tac_toe", [3, 3]),
    ],
)
def test_own_games_are_square_boards(name: str, size: list[int]) -> None:
    """Each own game with a board shows one of its size, from its first state and rules."""
    sheet = Sheet.own(name)
    (board,) = Layout(sheet.initial, sheet.rules).boards
    assert (sizes(board), board.lattice) == (size, "square")


def test_game_without_a_board_has_none() -> None:
    """A counter of rounds and a turn are no board."""
    facts = read("(round 1) (control white) resting")
    drawing = Layout(facts).draw(facts)
    assert drawing.svg == ()
    assert [fact for fact, _ in drawing.rest] == sorted(map(write, facts))


@pytest.mark.parametrize(
    ("name", "style"),
    [
        ("reversi_holes", "upper"),
        ("blokbox", "ggp-base"),
        ("breakthrough", "dresden"),
        ("connect_four", "ggp-base"),
        ("eight_puzzle", "dresden"),
    ],
)
def test_scrambled_names_change_no_structure(name: str, style: str) -> None:
    """Size, places, empty and blocked squares and pieces of several squares are found with any words."""
    sheet = Sheet.own(name)
    other = Sheet.of(scrambled(sheet.rules, style))
    plain, renamed = Layout(sheet.initial, sheet.rules), Layout(other.initial, other.rules)
    (a,), (b,) = plain.boards, renamed.boards
    assert sorted(a.places.values()) == sorted(b.places.values())
    assert (a.lattice, a.empty is None, len(a.blocked)) == (b.lattice, b.empty is None, len(b.blocked))
    pictures = [layout.draw(game.initial).svg[0] for layout, game in ((plain, sheet), (renamed, other))]
    for shape in ('class="h"', 'class="p c', 'class="a c', 'class="n"', 'class="s"'):
        assert pictures[0].count(shape) == pictures[1].count(shape)


@pytest.mark.parametrize(
    ("name", "readings", "size", "lattice"),
    [
        ("chess_200", [("cell", "piece")], [8, 8], "square"),
        ("checkers", [("cell", "piece")], [8, 8], "square"),
        ("shogi_ctk", [("cell", "piece")], [9, 9], "square"),
        ("alexChess", [("piece", "piece")], [8, 8], "square"),
        ("othelloHoles", [("cell", "piece"), ("cellOffLimits", "block")], [8, 8], "square"),
        ("amazons_10x10", [("cell", "piece"), ("justMoved", "mark")], [10, 10], "square"),
        ("hex", [("cell", "piece"), ("connected", "mark")], [9, 9], "hex"),
        ("laikLee_hex", [("cell", "piece")], [5, 5], "hex"),
        ("pentago", [("cellHolds", "piece")], [4, 3, 3], "square"),
        ("nineBoardTicTacToe", [("mark", "piece")], [3, 3, 3, 3], "square"),
        ("tictactoe_3d_6player", [("cell", "piece")], [4, 4, 4], "square"),
        ("connectFourSimultaneous", [("cell", "piece")], [8, 6, 2], "square"),
        ("chomp", [("chocolate", "piece")], [8, 7], "square"),
        ("sudoku", [("mark", "piece")], [9, 9], "square"),
        ("bomberman2p", [("location", "piece"), ("blockedEast", "mark"), ("blockedNorth", "mark")], [8, 8], "square"),
        ("withConviction", [("empty", "piece"), ("marked", "piece")], [5, 5], "square"),
        ("chineseCheckers3", [("cell", "piece")], [37], "points"),
        ("crisscross", [("cell", "piece")], [20], "points"),
        ("hidato19", [("cell", "piece")], [19], "points"),
        ("kalaha_2009", [("pit", "piece"), ("at", "mark")], [12], "points"),
    ],
)
def test_boards_of_other_authors_are_found(
    corpus: Path, name: str, readings: list[tuple[str, str]], size: list[int], lattice: str
) -> None:
    """Relations, their use, coordinates and neighbours are found in many styles of writing."""
    board, *_ = boards_of(corpus, name)
    assert sorted((reading.name[0], reading.use) for reading in board.readings.values()) == sorted(readings)
    assert (sizes(board), board.lattice) == (size, lattice)


@pytest.mark.parametrize("name", ["guess", "pearls", "switches"])
def test_what_is_no_board_is_not_taken_for_one(corpus: Path, name: str) -> None:
    """Single counters and other facts without structure stay facts."""
    assert boards_of(corpus, name) == ()


@pytest.mark.parametrize(
    ("name", "lattices"),
    [
        ("nim4", ["bars"]),
        ("gt_chicken", ["bars"]),
        ("snake_2008", ["square"]),
        ("racer", 4 * ["bars"]),
        ("pancakes", ["bars"]),
        ("hanoi", ["stacks"]),
        ("blocksWorld", ["stacks"]),
        ("checkers", ["square", "bars"]),
        ("kalaha_2009", ["points", "bars"]),
    ],
)
def test_heaps_counters_and_stacks_are_drawn(corpus: Path, name: str, lattices: list[str]) -> None:
    """Numbers by key are bars, a row of things too, and things on others are stacks; boards come first."""
    assert [board.lattice for board in boards_of(corpus, name)] == lattices


@pytest.mark.parametrize(
    ("name", "lattice", "size"),
    [("nim", "bars", [4]), ("kalaha", "bars", [2, 7]), ("hanoi", "stacks", [3]), ("rock_paper_scissors", "bars", [2])],
)
def test_own_games_without_a_grid_are_drawn(name: str, lattice: str, size: list[int]) -> None:
    """Keys may be numbers, or two words; things at places that moves name are piles."""
    sheet = Sheet.own(name)
    (board,) = Layout(sheet.initial, sheet.rules).boards
    assert (board.lattice, sizes(board)) == (lattice, size)


def test_two_games_in_one_are_two_boards(corpus: Path) -> None:
    """Relations with pieces on the same coordinates at the same time are separate boards."""
    assert [list(board.readings) for board in boards_of(corpus, "double_tictactoe_dengji")] == [
        [("cell1", 3)],
        [("cell2", 3)],
    ]


def test_hexagons_stand_in_leaning_rows(corpus: Path) -> None:
    """All six neighbours of a square of Hex, and no other square, are one cell away."""
    (board,) = boards_of(corpus, "hex")
    x, y = board.places["e", "5"]
    near = {square for square, (a, b) in board.places.items() if 0.9 < ((a - x) ** 2 + (b - y) ** 2) ** 0.5 < 1.1}
    assert near == {("d", "5"), ("f", "5"), ("e", "4"), ("e", "6"), ("d", "6"), ("f", "4")}


@pytest.mark.parametrize("name", ["pacman2p", "ghostMaze2p", "bomberman2p"])
def test_walls_of_mazes_stand_between_squares(corpus: Path, name: str) -> None:
    """A wall is on the side of the neighbours that rules mention together with it."""
    (board,) = boards_of(corpus, name)
    assert {reading.name[0]: reading.side for reading in board.readings.values()} == {
        "location": None,
        "blockedEast": (1, 0),
        "blockedNorth": (0, 1),
    }


def test_star_of_chinese_checkers_is_a_lattice(corpus: Path) -> None:
    """Places by distance alone make a regular picture: neighbours are about one cell apart."""
    (board,) = boards_of(corpus, "chineseCheckers3")
    lengths = [
        ((board.places[a][0] - board.places[b][0]) ** 2 + (board.places[a][1] - board.places[b][1]) ** 2) ** 0.5
        for a, b in board.edges
    ]
    assert len(lengths) > 2 * len(board.places)
    assert max(lengths) < 1.25 * min(lengths)


def test_empty_and_blocked_contents(corpus: Path) -> None:
    """The content of empty squares is distinguished from that of blocked ones, and from equally frequent pieces."""
    assert boards_of(corpus, "chess")[0].empty == ("b",)
    assert boards_of(corpus, "checkersTorus")[0].empty is None
    assert boards_of(corpus, "lightsOut")[0].empty == ("nolight",)
    (board,) = boards_of(corpus, "breakthroughSmallHoles")
    assert (board.empty, board.blocked) == (None, {("hole",)})


def test_squares_without_a_fact_are_left_out() -> None:
    """A board whose squares all have a fact at the start has none where there is no fact."""
    squares = [(x, y) for x in range(1, 6) for y in range(1, 6) if (x, y) not in ((1, 1), (5, 5))]
    facts = read(" ".join(f"(cell {x} {y} {'w' if x == y else 'b'})" for x, y in squares))
    (board,) = Layout(facts).boards
    assert len(board.places) == 23


def test_arguments_may_stand_in_any_order() -> None:
    """The content may come first, relations may be the content, and words may be coordinates."""
    for text in (
        " ".join(f"(p b {x} {y})" for x in "123" for y in "12") + " (p w 1 3) (p w 2 3)",
        " ".join(f"(b {x} {y})" for x in "123" for y in "12") + " (w 1 3) (w 2 3) (w 3 3)",
        " ".join(f"(pawn b {x} {y})" for x in "abc" for y in "12") + " (king b a 3) (king w c 3)",
    ):
        facts = read(text)
        relations = {(fact[0], *fact[1:-2]) for fact in facts}
        columns = {fact[-2] for fact in facts}
        every = [("init", (*relation, x, y)) for relation in relations for x in columns for y in "123"]
        (board,) = Layout(facts, every).boards
        assert sizes(board) == [3, 3]
        assert len(board.read(facts)[0]) == len(facts)
        assert len({content for held in board.read(facts)[0].values() for content in held}) >= 2


def test_successor_facts_order_columns_of_any_name() -> None:
    """Words are columns in the order of a successor relation of the rulesheet."""
    rules = read("(role r) (after zoo bar) (after bar ant) (after ant moo)")
    facts = read(" ".join(f"(on {column} {row} x)" for column in ("ant", "bar", "moo", "zoo") for row in "123"))
    (board,) = Layout(facts, rules).boards
    assert board.axes[0] == ("zoo", "bar", "ant", "moo")


def test_finding_and_drawing_are_deterministic() -> None:
    """The same facts in another order make the same picture."""
    sheet = Sheet.own("reversi_holes")
    facts = sorted(sheet.initial, key=write)
    one = Layout(facts, sheet.rules).draw(facts, None, read("(mark 3 4) (mark 5 6)"))
    two = Layout(facts[::-1], sheet.rules).draw(facts[::-1], None, read("(mark 3 4) (mark 5 6)"))
    assert one == two
