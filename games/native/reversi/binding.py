"""A binding: a rulesheet's facts and moves on the native board, and the goals of results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from games.machine import Term, UnknownFactError
from games.native.reversi.rules import ReversiPosition, ReversiVariant, cells_of


@dataclass(frozen=True)
class ReversiBinding:
    """A game of the family in a rulesheet's words. Colours 0 and 1 are the rulesheet's first and second role."""

    variant: ReversiVariant
    discs: tuple[Mapping[Term, int], Mapping[Term, int]]
    """Per colour: cells (bitboard indices) by the facts that its discs lie on them."""
    blanks: Mapping[Term, int]
    """Cells by the facts that they are empty; {} for sheets without such facts."""
    filled: Mapping[Term, int]
    """Cells by the facts that they are taken; {} for sheets without such facts."""
    control: Mapping[Term, int]
    """The colour to move, by the facts that say so."""
    always: frozenset[Term]
    """Facts of every state."""
    moves: tuple[Mapping[Term, int], Mapping[Term, int]]
    """Per colour: cells by the moves that take them."""
    passes: tuple[Term, Term]
    """Per colour: the side to move's move when it has no other."""
    waits: tuple[Term, Term]
    """Per colour: the move while the other side is to move; often the same as in `passes`."""
    goals: tuple[tuple[int, int, int], tuple[int, int, int]]
    """Per colour: goals of a loss, a draw and a win."""
    ignored: frozenset[Term] = frozenset()
    """Facts without influence, such as a count of plies."""

    def position(self, facts: Iterable[Term]) -> ReversiPosition:
        """The position of a state. Raises `UnknownFactError` where the facts fit no position."""
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
        """The facts of the position's state, without ignored ones."""
        taken = position.discs[0] | position.discs[1]
        true: set[Term] = set(self.always)
        for colour in (0, 1):
            true.update(fact for fact, cell in self.discs[colour].items() if position.discs[colour] >> cell & 1)
        true.update(fact for fact, cell in self.blanks.items() if not taken >> cell & 1)
        true.update(fact for fact, cell in self.filled.items() if taken >> cell & 1)
        true.update(fact for fact, colour in self.control.items() if colour == position.turn)
        return frozenset(true)

    def legal(self, position: ReversiPosition, colour: int) -> set[Term]:
        """The legal moves of a colour in a non-terminal position."""
        if colour != position.turn:
            return {self.waits[colour]}
        cells = self.variant.moves(position)
        return {self.move(colour, cell) for cell in cells_of(cells)} if cells else {self.passes[colour]}

    def move(self, colour: int, cell: int | None) -> Term:
        """The move that takes a cell, or the pass (None)."""
        return self.passes[colour] if cell is None else self._by_cell[colour][cell]

    def cell(self, colour: int, move: Term) -> int | None:
        """The cell that a move takes; None for a pass."""
        return self.moves[colour].get(move)

    def goal(self, position: ReversiPosition, colour: int) -> int:
        """A colour's goal in the finished game."""
        return self.goals[colour][1 + self.variant.result(position, colour)]

    @cached_property
    def _by_cell(self) -> tuple[dict[int, Term], dict[int, Term]]:
        first, second = ({cell: move for move, cell in names.items()} for names in self.moves)
        return first, second
