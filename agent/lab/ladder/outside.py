"""Engines of others: their contract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from agent.errors import CommandError, InputError, first_line
from games.machine import GameError, Term
from protocol.kif import write


class OutsideEngine(ABC):
    """A specialist of one game of two players who take turns, in the words of its author.

    Moves are spelled as the engine spells them; `spell` is the only link to those of the rulesheet. A `line` holds the
    moves since the first position. Methods run one at a time, some in other threads. Whatever they raise ends the
    series.
    """

    name: str
    """Name in tables and logs."""
    unit: str = "nodes"
    """What a rung counts: `nodes` a move, or `ms`."""

    @abstractmethod
    def spell(self, role: str, move: Term) -> str | None:
        """Returns a role's move in the engine's words; None for one that the engine does not know, as `noop`."""

    @abstractmethod
    def legal(self, line: Sequence[str]) -> Collection[str]:
        """Returns all moves of the side to move; none where the game is over."""

    @abstractmethod
    def choose(self, line: Sequence[str], rung: int | None) -> str:
        """Returns a move, found with that many of `unit`; None: the best that it can find."""

    def values(self, line: Sequence[str]) -> Mapping[str, float]:
        """Returns the exact value of each legal move to the side to move, higher being better, distances left out."""
        raise InputError(f"{self.name} does not know the value of moves: without --share it can be met in matches")

    def is_pass(self, move: str) -> bool:
        """Whether a move stands for having none: rulesheets do not call that a move."""
        return False

    def result(self, line: Sequence[str]) -> float | None:
        """Returns the points (0, 0.5, 1) of who made the last move of a game that is over; None: it does not say."""
        return None

    def new_game(self) -> None:  # noqa: B027 - some have nothing to forget
        """Forgets the game before."""

    def close(self) -> None:  # noqa: B027 - some have nothing to end
        """Ends the engine, from any thread."""

    def spelled(self, role: str, moves: Sequence[Term]) -> dict[str, Term]:
        """Returns those of a role's moves that the engine knows, by its words."""
        return {text: move for move in moves if (text := self.spell(role, move)) is not None}

    def after(self, line: Sequence[str], roles: Sequence[Term], joint_move: Sequence[Term]) -> list[str]:
        """Returns the line with one more joint move of the rulesheet. The engine passes where nobody has a move."""
        made = [
            text for role, move in zip(roles, joint_move, strict=True) for text in self.spelled(write(role), [move])
        ]
        return [*line, *(made or filter(self.is_pass, self.legal(line)))]


@contextmanager
def blaming(name: str) -> Iterator[None]:
    """Turns any error of an engine of that name into a `CommandError`, within the context."""
    try:
        yield
    except (CommandError, GameError):
        raise
    except Exception as error:
        raise CommandError(f"{name} failed: {type(error).__name__}: {first_line(error)}") from error


def place(line: Sequence[str]) -> str:
    """Returns the position after a line, for messages."""
    return f"after {' '.join(line)}" if line else "in the first position"
