"""The contract of every implementation of a game's rules, and its plain data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TypeAlias

Term: TypeAlias = str | tuple["Term", ...]
"""A GDL term: a `str` (constant, or variable with its leading `?`) or a tuple of terms `("mark", "3", "4")`."""

NO_MOVE: Term = "nil"
"""The move of a role without legal moves."""

State: TypeAlias = Hashable
"""A state of one machine: opaque, immutable, hashable, picklable; equal states compare equal."""


@dataclass(frozen=True)
class GoalScale:
    """The range of a game's goals, and the map from it to search's scale of 0..100: the identity for ordinary games.

    Rules may give any integers. The range is never smaller than 0..100.
    """

    least: float = 0
    most: float = 100

    def including(self, goals: Iterable[float]) -> GoalScale:
        """The scale that reaches these goals, too."""
        goals = list(goals)
        return GoalScale(min(self.least, *goals), max(self.most, *goals)) if goals else self

    def worth(self, goal: float) -> float:
        """A goal of the rules on the scale of search, 0..100."""
        return (goal - self.least) / ((self.most - self.least) / 100)

    def goal(self, worth: float) -> float:
        """The inverse of `worth`, to four decimals."""
        if self == USUAL_GOALS:
            return worth
        return round(self.least + worth * (self.most - self.least) / 100, 4)


USUAL_GOALS = GoalScale()


class StateMachine(ABC):
    """The rules of one game: legal moves, successors, the end and the goals.

    Roles are indices into `roles`; facts and moves are terms as spelled in the rulesheet.
    """

    roles: tuple[Term, ...]
    goal_scale = USUAL_GOALS
    """The range of the goals, as far as the machine knows it before it is played."""

    @abstractmethod
    def initial(self) -> State:
        """The state a match starts in."""

    @abstractmethod
    def legal(self, state: State, role: int) -> list[Term]:
        """The legal moves of `role`, without repeats, in a fixed order; empty where the sheet leaves none."""

    @abstractmethod
    def next(self, state: State, joint_move: Sequence[Term]) -> State:
        """The state after one move per role. Raises `IllegalMoveError` for a move unknown to the rules.

        A role without a legal move does nothing, whatever move is given for it: no `does` of it holds, and the moves of
        the others count.
        """

    @abstractmethod
    def terminal(self, state: State) -> bool:
        """Whether the match is over."""

    @abstractmethod
    def goal_values(self, state: State, role: int) -> list[int]:
        """The goal values that the sheet derives for `role`, ascending: any integers; a good sheet derives one."""

    def goal(self, state: State, role: int) -> int | None:
        """The greatest goal value of `role`; None where the sheet derives none.

        `points` turns None into a number.
        """
        return max(self.goal_values(state, role), default=None)

    @abstractmethod
    def facts(self, state: State) -> frozenset[Term]:
        """The facts that are `true` in the state."""

    @abstractmethod
    def state(self, facts: Iterable[Term]) -> State:
        """The state with exactly these facts. Raises `UnknownFactError` for one that can never be true."""

    def interruptible(self, stop: Callable[[], bool]) -> AbstractContextManager[None]:
        """Within, queries raise `Interrupted` soon after `stop` turns true; machines with quick queries ignore it.

        Applies to the queries of all threads.
        """
        return nullcontext()


def points(goal: int | None) -> int:
    """The goal as a number: 0 points for None, as managers record it."""
    return 0 if goal is None else goal


class GameError(Exception):
    """An error in a game's rules, or in a query about them.

    GameError
    ├── RulesError          the rulesheet has no meaning (see `games.gdl.rules.check` for its diagnostics)
    ├── IllegalMoveError    a move that no role can ever make
    ├── UnknownFactError    a fact that no state can hold
    └── LimitError          a bound on time, memory or size was reached
        └── Interrupted     the caller stopped the query
    """


class RulesError(GameError):
    """The rulesheet has no meaning."""


class IllegalMoveError(GameError):
    """A move unknown to the rules for this role."""


class UnknownFactError(GameError):
    """A fact that the rules can never make true."""


class LimitError(GameError):
    """A bound on time, memory or size was reached."""


class Interrupted(LimitError):
    """The caller stopped the query."""
