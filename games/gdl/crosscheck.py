"""Comparison of two machines of one game: they must agree on every state.

An `Observation` is one machine's view of one state: plain data, so that it can be taken in one process and compared in
another. `CrossCheck` takes them along random matches.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from games.gdl.rules.terms import Atom, Rule, term_text, unify
from games.machine import NO_MOVE, GameError, LimitError, State, StateMachine, Term

JointMove: TypeAlias = tuple[Term, ...]
"""One move per role, in the order of the roles."""

MAX_PLIES = 1000
"""Longest random match."""

_MOST_LISTED = 6
"""Most atoms, and most rules, in a description."""

_LONGEST_RULE = 300
"""Most characters of a rule in a description."""


@dataclass(frozen=True, slots=True)
class Step:
    """The step that led to a state."""

    before: frozenset[Term]
    """Facts of the state before."""
    joint_move: JointMove


@dataclass(frozen=True, slots=True)
class Observation:
    """One machine's view of one state."""

    facts: frozenset[Term]
    terminal: bool
    legal: tuple[tuple[Term, ...], ...]
    """Per role."""
    goals: tuple[int | None, ...] | None
    """Per role, in a terminal state; None in others."""
    step: Step | None = None
    """The machine's step to this state, if that is to be compared too."""
    initial: bool = False
    """Whether the machine gave it as the initial state."""


def observe(machine: StateMachine, state: State, step: Step | None = None, *, initial: bool = False) -> Observation:
    """Asks a machine everything about a state. Raises the machine's errors."""
    roles = range(len(machine.roles))
    terminal = machine.terminal(state)
    return Observation(
        machine.facts(state),
        terminal,
        tuple(tuple(machine.legal(state, role)) for role in roles),
        tuple(machine.goal(state, role) for role in roles) if terminal else None,
        step,
        initial,
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference between a machine and the one it is compared with."""

    query: str
    """Subject of the difference, such as `legal moves of x`."""
    facts: frozenset[Term]
    """Facts of the state in question; empty if the initial state itself differs."""
    joint_move: JointMove | None = None
    """Joint move played in it, if the next state differs."""
    extra: tuple[Atom, ...] = ()
    """Atoms that only the tested machine derives, such as `(legal x (mark 1 1))`."""
    missing: tuple[Atom, ...] = ()
    """Atoms that only the trusted machine derives."""
    failure: str = ""
    """Error that one of them raised, if that is the difference."""

    def rules(self, rules: Iterable[Rule]) -> list[Rule]:
        """The rules that conclude, or could conclude, the differing atoms: one per statement."""
        # A goal may differ by a second value, so every goal rule of the role is concerned.
        atoms = {(*atom[:2], "?value") if atom[0] == "goal" else atom for atom in (*self.extra, *self.missing)}
        found: dict[int, Rule] = {}
        for rule in rules:
            if any(unify(rule.head, atom) is not None for atom in atoms):
                found.setdefault(rule.statement, rule)
        return list(found.values())

    def describe(
        self,
        rules: Sequence[Rule] = (),
        *,
        tested: str = "circuit",
        trusted: str = "interpreter",
        place: Callable[[int], str] = lambda statement: f"statement {statement}: ",
    ) -> str:
        """The difference in one line of text.

        `rules` are those of the game; `place` names the place of a statement in the rulesheet, by its index.
        """
        parts = []
        if self.failure:
            parts.append(self.failure)
        for name, atoms in ((tested, self.extra), (trusted, self.missing)):
            if atoms:
                parts.append(f"only the {name} has {_listed(map(term_text, sorted(atoms, key=term_text)))}")
        if self.joint_move is not None:
            parts.append("joint move: " + " ".join(map(term_text, self.joint_move)))
        if self.facts:
            parts.append("state: " + " ".join(sorted(map(term_text, self.facts))))
        if concerned := self.rules(rules):
            texts = (f"{place(rule.statement)}{_shortened(str(rule))}" for rule in concerned)
            parts.append(f"rules concerned: {_listed(texts)}")
        return f"{self.query}: " + "; ".join(parts)


def compare(seen: Observation, trusted: StateMachine) -> Difference | None:
    """The first difference between an observation and the trusted machine; None if there is none.

    Legal moves are compared in states that are not terminal, goals in those that are. Raises `LimitError` (also
    `Interrupted`) if the trusted machine cannot tell.
    """
    asked, joint_move = "initial state", None
    facts: frozenset[Term] = frozenset()
    try:
        if seen.initial and (difference := _facts_differ(asked, "init", seen, trusted.facts(trusted.initial()))):
            return difference
        if seen.step is not None:
            asked, facts, joint_move = "next state", seen.step.before, seen.step.joint_move
            before = trusted.state(facts)
            difference = _facts_differ(asked, "next", seen, trusted.facts(trusted.next(before, joint_move)))
            if difference is not None:
                return difference
        asked, facts, joint_move = "terminal", seen.facts, None
        state = trusted.state(facts)
        terminal = trusted.terminal(state)
        if terminal != seen.terminal:
            atoms: tuple[Atom, ...] = (("terminal",),)
            return Difference(asked, facts, extra=() if terminal else atoms, missing=atoms if terminal else ())
        for role, name in enumerate(trusted.roles):
            if seen.goals is None:
                asked = f"legal moves of {term_text(name)}"
                found: set[Atom] = {("legal", name, move) for move in seen.legal[role]}
                expected: set[Atom] = {("legal", name, move) for move in trusted.legal(state, role)}
            else:
                asked = f"goal of {term_text(name)}"
                found = _goal_atoms(name, seen.goals[role])
                expected = _goal_atoms(name, trusted.goal(state, role))
            if found != expected:
                return Difference(asked, facts, None, _only(found, expected), _only(expected, found))
    except LimitError:
        raise
    except GameError as error:
        return Difference(asked, facts, joint_move, failure=f"the reference raises {type(error).__name__}: {error}")
    return None


class CrossCheck:
    """Random matches on one machine; each state is compared with another machine.

    The tested machine plays; moves are uniformly random. The work is done state by state, so it fits into any time and
    can be given up at any point.

    >>> check = CrossCheck(circuit, interpreter, seed=1)                # doctest: +SKIP
    >>> while check.matches < 10:                                       # doctest: +SKIP
    ...     if difference := check.step():
    ...         print(difference.describe(checked.rules))
    """

    def __init__(self, tested: StateMachine, trusted: StateMachine, *, seed: int = 1) -> None:
        self.states = 0
        """Number of states compared and found equal."""
        self.matches = 0
        """Number of matches finished: by their end, a difference, or their length."""
        self._tested = tested
        self._trusted = trusted
        self._random = random.Random(seed)
        self._state: State | None = None
        """State to compare next; None at the start of a match."""
        self._step: Step | None = None
        self.ply = 0
        """Ply of the state to compare next."""

    def step(self) -> Difference | None:
        """Compares one more state; the first difference in it ends the match.

        Raises `LimitError` if a machine cannot tell; the next call asks again. See `abandon`.
        """
        tested = self._tested
        if tested.roles != self._trusted.roles:
            self.abandon()
            both = (" ".join(map(term_text, machine.roles)) for machine in (tested, self._trusted))
            return Difference("roles", frozenset(), failure=" against ".join(both))
        try:
            initial = self._state is None
            state = tested.initial() if self._state is None else self._state
            seen = observe(tested, state, self._step, initial=initial)
        except LimitError:
            raise
        except GameError as error:
            return self._failure(error)
        difference = compare(seen, self._trusted)
        if difference is not None:
            self.abandon()
            return difference
        self.states += 1
        if seen.terminal or self.ply >= MAX_PLIES:
            self.abandon()
            return None
        joint_move = tuple(self._random.choice(moves or (NO_MOVE,)) for moves in seen.legal)
        self._step = Step(seen.facts, joint_move)
        try:
            self._state = tested.next(state, joint_move)
        except GameError as error:
            return self._failure(error)
        self.ply += 1
        return None

    def abandon(self) -> None:
        """Leaves this match for a new one."""
        self.matches += 1
        self._state = self._step = None
        self.ply = 0

    def _failure(self, error: GameError) -> Difference:
        before, joint_move = (self._step.before, self._step.joint_move) if self._step else (frozenset[Term](), None)
        self.abandon()
        return Difference("next state", before, joint_move, failure=f"it raises {type(error).__name__}: {error}")


def _facts_differ(query: str, relation: str, seen: Observation, expected: frozenset[Term]) -> Difference | None:
    if seen.facts == expected:
        return None
    extra = tuple((relation, fact) for fact in seen.facts - expected)
    missing = tuple((relation, fact) for fact in expected - seen.facts)
    before, joint_move = (seen.step.before, seen.step.joint_move) if seen.step else (frozenset[Term](), None)
    return Difference(query, before, joint_move, extra, missing)


def _goal_atoms(role: Term, value: int | None) -> set[Atom]:
    # The word makes the difference visible.
    return {("goal", role, "none" if value is None else str(value))}


def _only(these: set[Atom], those: set[Atom]) -> tuple[Atom, ...]:
    return tuple(sorted(these - those, key=term_text))


def _listed(texts: Iterable[str]) -> str:
    listed = list(texts)
    more = f" and {len(listed) - _MOST_LISTED} more" if len(listed) > _MOST_LISTED else ""
    return ", ".join(listed[:_MOST_LISTED]) + more


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_RULE else text[:_LONGEST_RULE] + " ..."
