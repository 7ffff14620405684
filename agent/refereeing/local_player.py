"""Players in the referee's own process, which it asks directly rather than over HTTP: a person, or an engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from games.machine import State, Term


class LocalPlayer(ABC):
    """Plays one role of one match in the referee's process.

    The referee asks it together with the players over HTTP, and judges its moves in the same way. States are those of
    the referee's machine, moves as the rulesheet spells them, whatever others are sent. The methods run on the
    referee's event loop: what takes long waits, or works in a thread. Each is called once the one before has ended, and
    is cancelled where its clock is over (if `timed`) or the match is aborted.
    """

    timed: bool = True
    """Whether the match's clocks hold for this player: a person may be given all the time in the world, and an engine
    that keeps time itself needs no second clock."""

    async def start(self, state: State, seconds: float) -> None:  # noqa: B027 - most have nothing to prepare
        """The match begins in this state, and the start clock runs for so many seconds."""

    @abstractmethod
    async def choose(self, legal: Sequence[Term], state: State) -> Term:
        """The move in this state: one of `legal`, which is not empty and is the role's own.

        Also called where there is only one, which a person need not be bothered with.
        """

    async def follow(self, joint_move: tuple[Term, ...], state: State) -> None:  # noqa: B027 - some need not know
        """A joint move was played, and has led to this state. It may hold another move than was chosen."""
