"""The one contract that every implementation of a game's rules answers to, and the plain data it speaks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TypeAlias

Term: TypeAlias = str | tuple["Term", ...]
"""A GDL term: a `str` (constant, or variable with its leading `?`) or a tuple of terms `("mark", "3", "4")`."""

NO_MOVE: Term = "nil"
"""Stands for the move of a role to which the rules leave none."""

State: TypeAlias = Hashable
"""A state of some machine: opaque, immutable, hashable, picklable; equal states of one machine compare equal."""


class StateMachine(ABC):
    """The rules of one game: what is legal, what follows, when it ends and what it is worth.

    Roles are addressed by their index in `roles`; facts and moves are terms as the rulesheet spells them.
    """

    roles: tuple[Term, ...]

    @abstractmethod
    def initial(self) -> State:
        """The state a match starts in."""

    @abstractmethod
    def legal(self, state: State, role: int) -> list[Term]:
        """The legal moves of `role`, without repeats, in a fixed order; empty where the sheet leaves it none."""

    @abstractmethod
    def next(self, state: State, joint_move: Sequence[Term]) -> State:
        """The state after one move per role. Raises `IllegalMoveError` for a move that the rules do not know."""

    @abstractmethod
    def terminal(self, state: State) -> bool:
        """Whether the match is over."""

    @abstractmethod
    def goal(self, state: State, role: int) -> int | None:
        """The goal value of `role`, 0..100; None where the sheet derives no value, or several at once.

        Whoever has to put a number on None, as search and statistics do, takes `points`.
        """

    @abstractmethod
    def facts(self, state: State) -> frozenset[Term]:
        """What is `true` in the state."""

    @abstractmethod
    def state(self, facts: Iterable[Term]) -> State:
        """The state in which exactly these facts are true. Raises `UnknownFactError` for one that can never be."""

    def interruptible(self, stop: Callable[[], bool]) -> AbstractContextManager[None]:
        """Within, queries raise `Interrupted` soon after `stop` says so; not so on a machine whose queries are quick.

        It holds for the queries of all threads.
        """
        return nullcontext()


def points(goal: int | None) -> int:
    """What a goal is worth: 0 points where there is none, as managers record it."""
    return 0 if goal is None else goal


class GameError(Exception):
    """Anything that is wrong with a game's rules or with what is asked of them.

    GameError
    ├── RulesError          the rulesheet has no meaning (see `games.gdl.rules.check` for its diagnostics)
    ├── IllegalMoveError    a move no role can ever make
    ├── UnknownFactError    a fact that no state can hold
    └── LimitError          a bound on time, memory or size was reached
        └── Interrupted     the caller wanted the query to stop
    """


class RulesError(GameError):
    """The rulesheet has no meaning."""


class IllegalMoveError(GameError):
    """A move that the rules do not know for this role."""


class UnknownFactError(GameError):
    """A fact that the rules can never make true."""


class LimitError(GameError):
    """A bound on time, memory or size was reached."""


class Interrupted(LimitError):
    """The caller wanted the query to stop."""
