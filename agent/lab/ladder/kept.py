"""Moves that keep the value of a solved game."""

from __future__ import annotations

from dataclasses import dataclass

from agent.lab.ladder.outside import OutsideEngine
from agent.lab.tally import wilson
from agent.lab.tournament.results import MatchResult
from games.machine import StateMachine
from protocol.kif import read_one, write


@dataclass(frozen=True)
class Kept:
    """A player's moves where some legal moves are worth less than others."""

    moves: int = 0
    kept: int = 0
    """Those of the best value."""

    def __add__(self, other: Kept) -> Kept:
        return Kept(self.moves + other.moves, self.kept + other.kept)

    def as_json(self) -> dict[str, float]:
        """Returns the share and its 95 % interval (see `wilson`), which takes moves as independent."""
        share = self.kept / max(1, self.moves)
        low, high = wilson(share, self.moves) if self.moves else (0.0, 1.0)
        return {
            "moves": self.moves,
            "kept": self.kept,
            "share": round(share, 4),
            "low": round(low, 4),
            "high": round(high, 4),
        }

    def __str__(self) -> str:
        data = self.as_json()
        return (
            f"{self.kept} of {self.moves} moves with something to lose kept the value: {100 * data['share']:.1f} % "
            f"(95 % interval {100 * data['low']:.1f}..{100 * data['high']:.1f})"
        )


def kept_moves(engine: OutsideEngine, machine: StateMachine, result: MatchResult, player: str) -> Kept:
    """Judges a player's moves in a match by the engine's values."""
    role = result.seats.index(player)
    name, line, found = write(machine.roles[role]), list[str](), Kept()
    engine.new_game()
    for ply, texts in enumerate([*result.opening, *result.moves]):
        joint_move = [read_one(text) for text in texts]
        move = engine.spell(name, joint_move[role])
        if ply >= len(result.opening) and move is not None:
            values = engine.values(line)
            best = max(values.values())
            if best > min(values.values()):
                found = found + Kept(1, int(values[move] == best))
        line = engine.after(line, machine.roles, joint_move)
    return found
