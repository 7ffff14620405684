"""Players in the referee's own process, asked without HTTP: a person, or an engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from games.machine import State, Term


class LocalPlayer(ABC):
    """Plays one role of one match in the referee's process.

    The referee asks it together with the players over HTTP, and judges its moves in the same way. States belong to the
    referee's machine; moves are spelled as in the rulesheet, without scrambling. The methods run one at a time on the
    referee's event loop, so long work belongs in a thread. They are cancelled when the clock is over (if `timed`) or
    the match is aborted. A `CommandError` ends the match; any other error counts as one of the player's.
    """

    timed: bool = True
    """Whether the match's clocks hold. A person may have no clock, and an engine may keep the time itself."""
    person: bool = False
    """Whether it is a person, who is asked for moves while others still get ready, and told what its role knows."""

    async def start(self, state: State, seconds: float) -> None:  # noqa: B027 - most have nothing to prepare
        """Prepares for the match, which begins in this state; `seconds` is the start clock."""

    @abstractmethod
    async def choose(self, legal: Sequence[Term], state: State) -> Term:
        """Returns one of the role's `legal` moves in this state, of which there may be only one."""

    async def follow(self, joint_move: tuple[Term, ...], state: State) -> None:  # noqa: B027 - some need not know
        """Takes in the joint move that led to this state. It may differ from the chosen move."""
