"""Moves that keep the value of a solved game."""

from __future__ import annotations

from agent.lab.ladder.outside import OutsideEngine
from agent.lab.tournament.results import MatchResult
from games.machine import StateMachine
from protocol.kif import read_one, write


def kept_values(engine: OutsideEngine, machine: StateMachine, result: MatchResult, player: str) -> list[bool]:
    """Returns whether a player's moves in a match were of the best value, where some legal move was worth less."""
    role = result.seats.index(player)
    name, line, kept = write(machine.roles[role]), list[str](), list[bool]()
    engine.new_game()
    for ply, texts in enumerate([*result.opening, *result.moves]):
        joint_move = [read_one(text) for text in texts]
        if ply >= len(result.opening):
            for move in engine.spelled(name, [joint_move[role]]):
                values = engine.values(line)
                best = max(values.values())
                if best > min(values.values()):
                    kept.append(values[move] == best)
        line = engine.after(line, machine.roles, joint_move)
    return kept
