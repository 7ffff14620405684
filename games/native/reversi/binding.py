"""A binding: which fact of a rulesheet is which disc, which move is which cell, and what a result is worth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from games.machine import Term, UnknownFactError
from games.native.reversi.rules import ReversiPosition, ReversiVariant, cells_of


@dataclass(frozen=True)
class ReversiBinding:
    """A game of the family as one rulesheet words it. Colour 0 and 1 are the rulesheet's first and second role."""

    variant: ReversiVariant
    discs: tuple[Mapping[Term, int], Mapping[Term, int]]
    """Per colour: the fact that a disc of the colour lies on a cell (bitboard index)."""
    blanks: Mapping[Term, int]
    """Facts that a cell is empty, where the rulesheet says so."""
    filled: Mapping[Term, int]
    """Facts that a cell is taken, where the rulesheet says so."""
    control: Mapping[Term, int]
    """Facts that say which colour is to move."""
    always: frozenset[Term]
    """Facts of every state."""
    moves: tuple[Mapping[Term, int], Mapping[Term, int]]
    """Per colour: the cell of each move that takes one."""
    passes: tuple[Term, Term]
    """Per colour: the move of the side to move when it has no other."""
    waits: tuple[Term, Term]
    """Per colour: the move while the other side is to move; mostly the same as `passes`."""
    goals: tuple[tuple[int, int, int], tuple[int, int, int]]
    """Per colour: what a loss, a draw and a win are worth."""
    ignored: frozenset[Term] = frozenset()
    """Facts that nothing depends on, such as a count of the plies."""

    def position(self, facts: Iterable[Term]) -> ReversiPosition:
        """The position of a state. Raises `UnknownFactError` where the facts are not those of any position."""
        facts = frozenset(facts) - self.ignored
        discs = [sum(1 << cell for fact, cell in names.items() if fact in facts) for names in self.discs]
        turn = 0
        for fact, colour in self.control.items():
            turn = colour if fact in facts else 1 - colour
        position = ReversiPosition((discs[0], discs[1]), turn)
        different = self.facts(position) ^ facts
        if different:
            raise UnknownFactError(f"no position of this game differs in {sorted(map(str, different))[0]}")
        return position

    def facts(self, position: ReversiPosition) -> frozenset[Term]:
        """What is true in the position's state, but for ignored facts."""
        taken = position.discs[0] | position.discs[1]
        true: set[Term] = set(self.always)
        for colour in (0, 1):
            true.update(fact for fact, cell in self.discs[colour].items() if position.discs[colour] >> cell & 1)
        true.update(fact for fact, cell in self.blanks.items() if not taken >> cell & 1)
        true.update(fact for fact, cell in self.filled.items() if taken >> cell & 1)
        true.update(fact for fact, colour in self.control.items() if colour == position.turn)
        return frozenset(true)

    def legal(self, position: ReversiPosition, colour: int) -> set[Term]:
        """The legal moves of a colour in a position that is not terminal."""
        if colour != position.turn:
            return {self.waits[colour]}
        cells = self.variant.moves(position)
        return {self.move(colour, cell) for cell in cells_of(cells)} if cells else {self.passes[colour]}

    def move(self, colour: int, cell: int | None) -> Term:
        """The move that takes a cell, or that passes (None)."""
        return self.passes[colour] if cell is None else self._by_cell[colour][cell]

    def cell(self, colour: int, move: Term) -> int | None:
        """The cell that a move takes; None where it passes."""
        return self.moves[colour].get(move)

    def goal(self, position: ReversiPosition, colour: int) -> int:
        """What the finished game is worth to a colour."""
        return self.goals[colour][1 + self.variant.result(position, colour)]

    @cached_property
    def _by_cell(self) -> tuple[dict[int, Term], dict[int, Term]]:
        first, second = ({cell: move for move, cell in names.items()} for names in self.moves)
        return first, second
