"""The boards of a game, and pictures of its states."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agent.boards.board import Board, Content, Reading, Square, tables
from agent.boards.graphs import find_graphs
from agent.boards.grids import find_grids
from agent.boards.joins import places_shapes
from agent.boards.moves import MoveReader
from agent.boards.pieces import Piece, colours_of_roles, find_pieces
from agent.boards.rulesheet import FACT, Rules
from agent.boards.svg import BoardView, draw_board
from agent.boards.text import board_text, legend
from games.machine import Term
from protocol.kif import write

MAX_BOARDS = 12
MAX_EXPECTED = 500
"""Most contents of a relation taken from the rules' bounds; with more, only those seen get a piece."""

Contents: TypeAlias = dict[Square, dict[Content, Reading]]


@dataclass(frozen=True)
class Drawing:
    """A drawn state."""

    svg: tuple[str, ...]
    """One complete `<svg>` element per board."""
    rest: tuple[tuple[str, bool], ...]
    """Facts that no board shows, as KIF text, sorted, each with whether it is new since the state before."""
    gone: tuple[str, ...]
    """Such facts of the state before that are true no more, sorted."""
    choices: dict[str, tuple[str, ...]]
    """Legal moves as KIF text, by their squares (`data-square` in the pictures)."""


@dataclass(frozen=True, eq=False)
class _Shown:
    """A board ready to be drawn."""

    board: Board
    pieces: dict[Content, Piece]
    moves: MoveReader
    joined: bool
    ids: dict[Square, str]


class Layout:
    """The boards of one game, and the looks of their contents."""

    def __init__(
        self, boards: Sequence[Board], rules: Rules, states: Sequence[Collection[Term]], possible: Collection[Term]
    ) -> None:
        """Takes known boards; `find` detects them."""
        self._shown = [_shown(board, rules, states, possible, index, len(boards)) for index, board in enumerate(boards)]

    @classmethod
    def find(
        cls, states: Sequence[Collection[Term]], possible: Collection[Term] = (), rules: Sequence[Term] = ()
    ) -> Layout:
        """Finds the boards of a game.

        `states` are known states, the initial one first; `possible` are the facts of all possible states, empty if
        unknown; `rules` are the rulesheet's terms, for the order of coordinates, neighbours, and bounds of arguments.
        """
        sheet = Rules(rules)
        constants = {(key[1], key[2]): domains for key, domains in sheet.constants.items() if key[0] == FACT}
        known = tables(states, possible, constants, sheet.order)
        boards = find_grids(known, sheet)
        taken = {name for board in boards for name in board.readings}
        boards += find_graphs(known, sheet, taken)
        return cls(boards[:MAX_BOARDS], sheet, states, possible)

    @property
    def boards(self) -> tuple[Board, ...]:
        """Boards, the most important first."""
        return tuple(shown.board for shown in self._shown)

    def draw(
        self,
        facts: Collection[Term],
        before: Collection[Term] | None = None,
        legal: Sequence[Term] = (),
        last: Sequence[Term] = (),
    ) -> Drawing:
        """Draws a state.

        `before` is the state one step earlier, for marking changes; `legal` are the moves whose squares can be
        clicked; `last` is the last joint move, whose squares are marked.
        """
        pictures: list[str] = []
        choices: dict[str, list[str]] = defaultdict(list)
        read_by = {move: self._readers(move) for move in (*legal, *last)}
        on_boards: set[Term] = set()
        were_on_boards: set[Term] = set()
        for shown in self._shown:
            contents, used = shown.board.read(facts)
            on_boards |= used
            earlier = None
            if before is not None:
                earlier, were = shown.board.read(before)
                were_on_boards |= were
            here: dict[Square, list[str]] = defaultdict(list)
            first: set[Square] = set()
            for move in legal:
                if shown not in read_by[move]:
                    continue
                squares = shown.moves.choices(move)
                if shown.moves.squares(move):
                    first.update(squares[:1])
                else:
                    # A move that names a column only may mean any of its squares, more likely an empty one.
                    free = [square for square in squares if not shown.board.pieces(contents.get(square, {}))]
                    squares = free or squares
                    first.update(squares)
                for square in squares:
                    here[square].append(write(move))
            for square, moves in here.items():
                known = choices[shown.ids[square]]
                known.extend(move for move in dict.fromkeys(moves) if move not in known)
            view = BoardView(
                contents=contents,
                pieces=shown.pieces,
                changed=_changed(contents, earlier),
                last=frozenset(
                    square for move in last if shown in read_by[move] for square in shown.moves.squares(move)
                ),
                choices=frozenset(here),
                first=frozenset(first),
                joined=shown.joined,
                ids=shown.ids,
            )
            pictures.append(draw_board(shown.board, view))
        old = set(before) if before is not None else None
        return Drawing(
            svg=tuple(pictures),
            rest=tuple(sorted((write(fact), old is not None and fact not in old) for fact in set(facts) - on_boards)),
            gone=tuple(sorted(write(fact) for fact in (old or set()) - set(facts) - were_on_boards)),
            choices={square: tuple(moves) for square, moves in choices.items()},
        )

    def _readers(self, move: Term) -> list[_Shown]:
        """Returns the boards that a move may be about; of several, those that the rules connect with it most."""
        fitting = [shown for shown in self._shown if shown.moves.choices(move)]
        most = max((shown.moves.shared(move) for shown in fitting), default=0)
        return [shown for shown in fitting if shown.moves.shared(move) == most]

    def colours(self, roles: Sequence[str]) -> list[int | None]:
        """Returns the colour of each role's pieces on the most important board; see `colours_of_roles`."""
        return colours_of_roles(roles, list(self._shown[0].pieces.values()) if self._shown else ())

    def text(self, facts: Collection[Term]) -> str | None:
        """Returns the boards as lines of text for a terminal; None where there is no board."""
        drawn = [board_text(shown.board, shown.board.read(facts)[0], shown.pieces) for shown in self._shown]
        return "\n\n".join(drawn) if drawn else None

    def legend(self) -> str:
        """Returns the meanings of the signs in the text, on one line."""
        return legend([(shown.board, shown.pieces) for shown in self._shown])


def _shown(
    board: Board, rules: Rules, states: Sequence[Collection[Term]], possible: Collection[Term], index: int, count: int
) -> _Shown:
    contents: dict[Content, None] = {}
    at_start: Counter[Content] = Counter()
    for number, facts in enumerate((*states, possible)):
        for on_square in board.read(facts)[0].values():
            for content, reading in on_square.items():
                if reading.use == "piece" and content != board.empty and content not in board.blocked:
                    contents[content] = None
                    at_start[content] += number == 0
    if not possible:
        contents.update(dict.fromkeys(_expected(board, rules)))
    prefix = f"{index + 1}: " if count > 1 else ""
    return _Shown(
        board=board,
        pieces=find_pieces(list(contents), at_start, rules),
        moves=MoveReader(board, rules),
        joined=places_shapes(board, rules),
        ids={square: prefix + " ".join(square) for square in board.places},
    )


def _expected(board: Board, rules: Rules) -> list[Content]:
    """Returns the contents within the rules' bounds of arguments."""
    found: list[Content] = []
    for name, reading in board.readings.items():
        constants = rules.constants.get((FACT, *name))
        if constants is None or reading.use != "piece":
            continue
        words = [sorted(constants[position]) for position in reading.contents]
        if math.prod(map(len, words)) > MAX_EXPECTED:
            continue
        for content in itertools.product([name[0]], *words):
            content = content if reading.named else content[1:]
            if content != board.empty and content not in board.blocked:
                found.append(content)
    return found


def _changed(now: Contents, earlier: Contents | None) -> frozenset[Square]:
    """Returns the squares whose contents differ from those of the state before."""
    if earlier is None:
        return frozenset()
    return frozenset(
        square for square in {*now, *earlier} if now.get(square, {}).keys() != earlier.get(square, {}).keys()
    )
