"""Mapping of moves to squares of a board."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass

from agent.boards.board import Board, Name, Square, name_of
from agent.boards.rulesheet import FACT, MOVE, Rules, atoms_inside, is_variable
from games.machine import Term
from protocol.kif import write

MAX_ARGUMENTS = 12


@dataclass(frozen=True)
class _Signature:
    """Positions of squares among the arguments of one kind of move."""

    whole: tuple[tuple[int, ...], ...]
    """Argument positions of each square named in full."""
    part: tuple[tuple[int, int], ...]
    """If there is none: argument positions with the index of the square's argument there, such as the column."""


class MoveReader:
    """Reads the squares in a game's moves."""

    def __init__(self, board: Board, rules: Rules) -> None:
        self._board = board
        self._axes = [frozenset(axis) for axis in board.axes]
        self._constants = rules.constants
        self._votes = _votes(board, rules)
        self._signatures: dict[Name, _Signature] = {}

    def squares(self, move: Term) -> list[Square]:
        """Returns the squares that the move names in full, in order."""
        if isinstance(move, str):
            return []
        signature = self._signature(move)
        found = []
        for positions in signature.whole:
            values = [move[1 + position] for position in positions]
            square = tuple(value for value in values if isinstance(value, str))
            if len(square) == len(values) and square in self._board.places:
                found.append(square)
        return found

    def choices(self, move: Term) -> list[Square]:
        """Returns the squares that stand for the move: those that it names, or all of a column or row that it names."""
        if isinstance(move, str):
            return []
        signature = self._signature(move)
        if signature.whole:
            return list(dict.fromkeys(self.squares(move)))
        if not signature.part:
            return []
        wanted = [(part, move[1 + position]) for position, part in signature.part]
        found = [square for square in self._board.places if all(square[part] == value for part, value in wanted)]
        return found if 2 * len(found) <= len(self._board.places) else []

    def spell(self, move: tuple[Term, ...]) -> list[str]:
        """Returns the move's arguments as text, squares by their names for people."""
        words = dict(enumerate(map(write, move[1:])))
        signature = self._signature(move)
        for positions in signature.whole:
            square = tuple(words[position] for position in positions)
            if square in self._board.places:
                words[positions[0]] = self._board.name(square)
                for position in positions[1:]:
                    del words[position]
        for position, part in signature.part:
            words[position] = self._board.labels[part].get(words[position], words[position])
        return list(words.values())

    def shared(self, move: Term) -> int:
        """Returns the number of the move's arguments that share a variable with this board's squares in rules."""
        name = name_of(move)
        return sum((name, position) in self._votes for position in range(name[1]))

    def _signature(self, move: tuple[Term, ...]) -> _Signature:
        name = name_of(move)
        if name not in self._signatures:
            self._signatures[name] = self._find(name, move)
        return self._signatures[name]

    def _find(self, name: Name, move: tuple[Term, ...]) -> _Signature:
        count = min(name[1], MAX_ARGUMENTS)
        width = len(self._axes)
        constants = self._constants.get((MOVE, *name))
        # In the rules' bounds, the first argument of a move is the role.
        domains = [constants[1 + position] if constants else set() for position in range(count)]

        def fits(position: int, part: int) -> bool:
            # A shared variable is proof enough, even where bounds are loose.
            shared = part in self._votes.get((name, position), ())
            return shared or not domains[position] or domains[position] <= self._axes[part]

        starts = [
            start
            for start in range(count - width + 1)
            if all(fits(start + part, part) and isinstance(move[1 + start + part], str) for part in range(width))
            and (constants or all(move[1 + start + part] in self._axes[part] for part in range(width)))
        ]
        best: tuple[int, ...] = ()
        best_score = (0, 0, 0)
        for size in range(1, count // width + 1):
            for chosen in itertools.combinations(starts, size):
                if any(b - a < width for a, b in itertools.pairwise(chosen)):
                    continue
                votes = sum(
                    part in self._votes.get((name, start + part), ()) for start in chosen for part in range(width)
                )
                # As a last resort: names come first, coordinates last.
                score = (size, votes, sum(chosen))
                if score > best_score:
                    best, best_score = chosen, score
        whole = tuple(tuple(range(start, start + width)) for start in best)
        if whole:
            return _Signature(whole, ())
        parts: dict[int, int] = {}
        for position in range(count):
            shared = self._votes.get((name, position), [])
            if shared and domains[position]:
                likely = max(sorted(set(shared)), key=shared.count)
                if fits(position, likely) and likely not in parts.values():
                    parts[position] = likely
        return _Signature((), tuple(parts.items()))


def _votes(board: Board, rules: Rules) -> dict[tuple[Name, int], list[int]]:
    """Returns, by argument of moves, the arguments of squares that share a variable with it in rules."""
    votes: dict[tuple[Name, int], list[int]] = defaultdict(list)
    for head, body in rules.rules:
        atoms = list(atoms_inside((head, *body)))
        moves = [(key, arguments) for key, arguments in atoms if key[0] == MOVE]
        if not moves:
            continue
        parts: dict[Term, set[int]] = defaultdict(set)
        for key, arguments in atoms:
            reading = board.readings.get((key[1], key[2])) if key[0] == FACT else None
            if reading is not None and reading.use == "piece":
                for part, position in enumerate(reading.positions):
                    if is_variable(arguments[position]):
                        parts[arguments[position]].add(part)
        for key, arguments in moves:
            for position, argument in enumerate(arguments[1:]):
                for part in sorted(parts.get(argument, ())):
                    votes[(key[1], key[2]), position].append(part)
    return dict(votes)
