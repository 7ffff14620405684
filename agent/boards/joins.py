"""Detection of moves that place pieces of several squares."""

from __future__ import annotations

from agent.boards.board import Board
from agent.boards.rulesheet import FACT, MOVE, Rules, is_variable, read_atom


def places_shapes(board: Board, rules: Rules) -> bool:
    """Returns whether contents stay for good, and a move that names a square fills others beside it too."""
    if board.lattice != "square" or len(board.readings) != 1:
        return False
    name, reading = next(iter(board.readings.items()))
    if not any(len(body) == 1 for _, body in rules.carried((FACT, *name))):
        return False
    for head, body in rules.produced((FACT, *name)):
        atom = read_atom(head)
        if atom is None:
            continue
        named = {atom[1][position] for position in reading.positions if is_variable(atom[1][position])}
        moves = [seen for literal in body if (seen := read_atom(literal)) is not None and seen[0][0] == MOVE]
        needs_facts = any((seen := read_atom(literal)) is not None and seen[0][0] == FACT for literal in body)
        for key, arguments in moves:
            if needs_facts or key[2] <= len(reading.positions) or named & set(arguments[1:]):
                continue
            if all(value in rules.rank for value in arguments[:1]) and len(named) == len(reading.positions):
                return True
    return False
