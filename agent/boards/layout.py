"""The boards of a game, and pictures of its states."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from agent.boards.board import Board, Content, Square, name_of, tables
from agent.boards.graphs import find_graphs
from agent.boards.grids import find_grids
from agent.boards.heaps import find_heaps, places_now
from agent.boards.joins import places_shapes
from agent.boards.moves import MoveReader
from agent.boards.pieces import Piece, colours_of_roles, find_pieces
from agent.boards.rulesheet import FACT, MOVE, Rules
from agent.boards.svg import BoardView, draw_board, draw_emblem
from agent.boards.text import board_text
from games.machine import Term
from protocol.kif import write

MAX_BOARDS = 12
MAX_EXPECTED = 500
"""Most contents of a relation taken from the rules' bounds; with more, only those seen get a piece."""


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
    spelled: dict[str, str]
    """Those legal moves and the last ones as people write them, by their KIF text."""


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

    def __init__(self, state: Collection[Term], rules: Sequence[Term] = ()) -> None:
        """Finds the boards of a game from its first state.

        `rules` are the rulesheet's terms, for the order of coordinates, neighbours, and bounds of arguments.
        """
        sheet = Rules(rules)
        constants = {(key[1], key[2]): domains for key, domains in sheet.constants.items() if key[0] == FACT}
        known = tables(state, constants, sheet.order)
        boards = find_grids(known, sheet)
        for find in (find_graphs, find_heaps):
            boards += find(known, sheet, {name for board in boards for name in board.readings})
        self._moves = {(name, count) for kind, name, count in sheet.constants if kind == MOVE and count}
        self._shown: list[_Shown] = []
        for index, board in enumerate(boards[:MAX_BOARDS]):
            # A role's counters have the colour of its pieces.
            told = zip(sheet.roles, colours_of_roles(sheet.roles, self._pieces()), strict=True)
            own = {role: colour for role, colour in told if colour is not None}
            tints = {square: own.get(square[0], tint) for square, tint in board.tints.items()}
            self._shown.append(_shown(replace(board, tints=tints), sheet, state, index))

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
        choices: dict[str, dict[str, None]] = defaultdict(dict)
        read_by = {move: self._readers(move) for move in (*legal, *last)}
        on_boards: set[Term] = set()
        were_on_boards: set[Term] = set()
        for shown in self._shown:
            contents, used = shown.board.read(facts)
            on_boards |= used
            earlier, were = (contents, used) if before is None else shown.board.read(before)
            were_on_boards |= were
            here: set[Square] = set()
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
                    # One mark a column, where pieces fall to.
                    lowest = max(squares, key=lambda square: (shown.board.places[square][1], square))
                    first.update([lowest] if shown.board.lattice == "square" else squares)
                here.update(squares)
                for square in squares:
                    choices[shown.ids[square]][write(move)] = None
            view = BoardView(
                contents=contents,
                places=places_now(shown.board, contents),
                pieces=shown.pieces,
                changed={
                    square
                    for square in {*contents, *earlier}
                    if contents.get(square, {}).keys() != earlier.get(square, {}).keys()
                },
                last={square for move in last if shown in read_by[move] for square in shown.moves.squares(move)},
                choices=here,
                first=first,
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
            spelled={write(move): self.spell(move) for move, shown in read_by.items() if shown},
        )

    def _readers(self, move: Term) -> list[_Shown]:
        """Returns the boards that a move may be about; of several, those that the rules connect with it most."""
        fitting = [shown for shown in self._shown if shown.moves.choices(move)]
        most = max((shown.moves.shared(move) for shown in fitting), default=0)
        return [shown for shown in fitting if shown.moves.shared(move) == most]

    def spell(self, move: Term) -> str:
        """Returns a move as people write it, such as `e2 e4`.

        Squares have their names on the board. The relation is left out if it is the only one with arguments.
        """
        if isinstance(move, str) or not (shown := self._readers(move)):
            return write(move) if isinstance(move, str) else write(move)[1:-1]
        words = shown[0].moves.spell(move)
        return " ".join(words if self._moves == {name_of(move)} else [write(move[0]), *words])

    def colours(self, roles: Sequence[str]) -> list[int | None]:
        """Returns the colour of each role's pieces on the most important board, else of its bars."""
        bars = {square[0]: tint for shown in self._shown for square, tint in shown.board.tints.items()}
        found = colours_of_roles(roles, self._pieces())
        return [bars.get(role) if colour is None else colour for role, colour in zip(roles, found, strict=True)]

    def emblems(self, roles: Sequence[str]) -> list[str | None]:
        """Returns a picture of each role's piece, to stand for the role; None where nothing tells it."""
        pieces = self._pieces()
        own = [
            [piece for piece in pieces if piece.owner >= 0 and piece.colour == colour]
            for colour in colours_of_roles(roles, pieces)
        ]
        return [draw_emblem(own_pieces[0], len(own_pieces) == 1) if own_pieces else None for own_pieces in own]

    def _pieces(self) -> list[Piece]:
        return list(self._shown[0].pieces.values()) if self._shown else []

    def text(self, facts: Collection[Term]) -> str | None:
        """Returns the boards as lines of text for a terminal; None where there is no board."""
        drawn = []
        for shown in self._shown:
            contents, _ = shown.board.read(facts)
            drawn.append(board_text(shown.board, contents, places_now(shown.board, contents), shown.pieces))
        return "\n\n".join(drawn) if drawn else None


def _shown(board: Board, rules: Rules, state: Collection[Term], index: int) -> _Shown:
    at_start: Counter[Content] = Counter()
    for on_square in board.read(state)[0].values():
        at_start.update(board.pieces(on_square))
    contents = [*at_start, *(content for content in _expected(board, rules) if content not in at_start)]
    # No constant has brackets.
    prefix = f"({index + 1}) " if index else ""
    return _Shown(
        board=board,
        pieces=find_pieces(contents, at_start, rules),
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
