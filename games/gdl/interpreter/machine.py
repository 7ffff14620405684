"""`Interpreter`: plays a game directly from its rules, for games that do not ground.

Queries are answered goal-directed: each rule is compiled to Python for every binding pattern it is called with. Answers
are tabled; those that depend on neither state nor joint move are kept (see the package).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

from games.gdl.interpreter.linking import Linked
from games.gdl.interpreter.unfolding import UnfoldedRules
from games.gdl.rules.check import CheckedRules
from games.gdl.rules.terms import goal_value, predicate, term_text, unify, variables
from games.machine import IllegalMoveError, State, StateMachine, Term

RECURSION_LIMIT = 150_000
"""Most Python frames of recursive rules. Generated code calls itself without C stack, so memory is the only limit."""

MAX_STATIC_CALLS = 500_000
"""Tabled calls kept from state to state."""

STATES_BETWEEN_LOOKS = 32
"""States between checks of the number of tabled calls."""

MAX_KNOWN_MOVES = 1 << 16
"""Checked moves remembered from state to state."""


class _Texts(dict[Term, str]):
    """Texts of moves, cached: there are few, sorted in every state."""

    def __missing__(self, move: Term) -> str:
        if len(self) >= MAX_KNOWN_MOVES:
            self.clear()
        text = self[move] = term_text(move)
        return text


class Interpreter(StateMachine):
    """A game played from its rules; states are frozensets of facts. Thread-safe: queries wait for each other.

    Every query may raise `LimitError`: the evaluation of rules may not end.
    """

    def __init__(self, checked: CheckedRules) -> None:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION_LIMIT))
        self.roles = checked.roles
        self._legal_heads = [rule.head for rule in checked.rules if predicate(rule.head) == ("legal", 2)]
        self._lock = threading.RLock()
        self._linked = Linked(UnfoldedRules(checked.rules))
        self._facts: frozenset[Term] | None = None
        self._states = 0
        self._moves: tuple[tuple[Term, Term], ...] = ()
        self._known_moves: set[tuple[int, Term]] = set()
        self._texts = _Texts()
        self._initial = frozenset(self._linked.answers(("init", 1), "f", ()))
        self._load(self._initial)
        self._linked.learn_state()

    def initial(self) -> State:
        return self._initial

    def legal(self, state: State, role: int) -> list[Term]:
        with self._lock:
            moves = self._legal(state, role)
            return sorted(moves, key=self._texts.__getitem__) if len(moves) > 1 else list(moves)

    def next(self, state: State, joint_move: Sequence[Term]) -> State:
        """The state after one move per role, legal or not: the manager's joint move is the truth.

        Raises `IllegalMoveError` for a wrong number of moves, and for a move that no `legal` rule of its role can
        conclude (unless the role has no legal move: it does nothing then).
        """
        if len(joint_move) != len(self.roles):
            raise IllegalMoveError(f"a joint move has {len(self.roles)} moves, not {len(joint_move)}")
        with self._lock:
            moves = []
            for role, move in enumerate(joint_move):
                if self._legal(state, role):
                    if not self._is_known(role, move):
                        raise IllegalMoveError(f"role {term_text(self.roles[role])} can never play {term_text(move)}")
                    moves.append((self.roles[role], move))
            self._load(state, tuple(moves))
            return frozenset(self._linked.answers(("next", 1), "f", ()))

    def terminal(self, state: State) -> bool:
        with self._lock:
            self._load(state)
            return self._linked.holds(("terminal", 0), "", ())

    def goal_values(self, state: State, role: int) -> list[int]:
        with self._lock:
            self._load(state)
            values = map(goal_value, self._linked.answers(("goal", 2), "bf", self.roles[role]))
            return sorted({value for value in values if value is not None})

    def facts(self, state: State) -> frozenset[Term]:
        return cast(frozenset[Term], state)

    def state(self, facts: Iterable[Term]) -> State:
        """The state of any facts: whether they can be true is not checked."""
        return frozenset(facts)

    @contextmanager
    def interruptible(self, stop: Callable[[], bool]) -> Iterator[None]:
        evaluation = self._linked.evaluation
        before, evaluation.stop = evaluation.stop, stop
        try:
            yield
        finally:
            evaluation.stop = before

    def _legal(self, state: State, role: int) -> Collection[Term]:
        self._load(state)
        return self._linked.answers(("legal", 2), "bf", self.roles[role])

    def _load(self, state: State, moves: tuple[tuple[Term, Term], ...] | None = None) -> None:
        """Sets the state, and the joint move as pairs of role and move (None: keep the last one, for queries about a
        state, which no move influences)."""
        self._linked.evaluation.begin()
        if state is not self._facts and state != self._facts:
            self._facts = cast(frozenset[Term], state)
            self._states += 1
            if not self._states % STATES_BETWEEN_LOOKS:
                self._linked.clear_static(MAX_STATIC_CALLS)
            self._linked.set_state(self._facts)
        if moves is not None and moves != self._moves:
            self._moves = moves
            self._linked.set_moves(moves)

    def _is_known(self, role: int, move: Term) -> bool:
        """Whether some `legal` rule concludes moves of this shape for the role."""
        if (role, move) in self._known_moves:
            return True
        if variables(move) or all(
            unify((self.roles[role], move), (head[1], head[2])) is None for head in self._legal_heads
        ):
            return False
        if len(self._known_moves) < MAX_KNOWN_MOVES:
            self._known_moves.add((role, move))
        return True
