"""Whether all ways to play a rulesheet play the same game: recorded once with the naive evaluator, compared with each.

The ways: the interpreter, and the circuit of every grounding variant, once as in production and once with thresholds
moved so that the rewritings that only large sheets call for come into effect on small ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np

from games.gdl.circuit.circuit import build_circuit
from games.gdl.compile import finished_compilation
from games.gdl.grounding import demand, rewrite, unfold
from games.gdl.grounding import ground as grounding
from games.gdl.grounding.estimate import Estimates
from games.gdl.grounding.ground import VARIANTS, Rewriter, ground
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules import normalise as normal_form
from games.gdl.rules.check import CheckedRules, check
from games.gdl.rules.terms import Rule
from games.gdl.running.machine import CircuitMachine, compiled_game
from games.machine import NO_MOVE, GameError, LimitError, StateMachine
from tests.generated.naive import Naive

Term = Any
Sheet = Sequence[Term]
Watch = Callable[[str, Any], None]
"""Called with what a stage is called and what it made; see `coverage`."""

MATCHES = 10

TOO_LARGE = "too many callers"
"""With what a sheet is refused whose relations with unsafe heads would have to be put into too many bodies: that is no
difference."""

REFUSED = "too large"
"""The stage that is watched where a sheet, or one variant of its grounding, is refused as too large."""


_MOST_LITERALS = 2_000_000
"""Beyond it a grounding is refused; one sheet in some ten thousand grows so in one variant, and would take minutes."""


@dataclass(frozen=True)
class Position:
    """What holds in a state."""

    facts: frozenset[Term]
    legal: list[set[Term]]
    """Per role."""
    terminal: bool
    goals: list[list[int]]
    """Per role, its values, ascending."""


@dataclass(frozen=True)
class Record:
    """Random matches: their positions, each once, and the joint moves that were made, each once."""

    roles: list[Term]
    initial: frozenset[Term]
    positions: list[Position]
    moves: list[tuple[int, tuple[Term, ...], frozenset[Term]]]
    """Index of the position, joint move, facts of the next state."""


def record(sheet: Sheet, seed: int, matches: int = MATCHES, max_plies: int = 12) -> Record:
    """Random matches as the naive evaluator plays them. Raises `ValueError` for sheets that it cannot evaluate."""
    rng = Random(seed)
    naive = Naive(sheet)
    index: dict[frozenset[Term], int] = {}
    positions: list[Position] = []
    views = []
    following: dict[tuple[int, tuple[Term, ...]], frozenset[Term]] = {}
    for _ in range(matches):
        facts = naive.initial
        for _ in range(max_plies):
            if facts not in index:
                index[facts] = len(positions)
                view = naive.look(facts)
                views.append(view)
                positions.append(Position(facts, naive.legal(view), naive.terminal(view), naive.goals(view)))
            number = index[facts]
            here = positions[number]
            if here.terminal:
                break
            joint = tuple([rng.choice(sorted(moves, key=repr)) if moves else NO_MOVE for moves in here.legal])
            if (number, joint) not in following:
                following[number, joint] = naive.next(views[number], joint)
            facts = following[number, joint]
    moves = [(number, joint, facts) for (number, joint), facts in following.items() if facts in index]
    return Record(naive.roles, naive.initial, positions, moves)


def disagreement(machine: StateMachine, known: Record) -> str | None:
    """What the machine gets wrong first, one state at a time; None if nothing."""
    if list(machine.roles) != known.roles:
        return f"roles {machine.roles}, not {known.roles}"
    found = _different("at the start", machine.facts(machine.initial()), known.initial)
    if found:
        return found
    roles = range(len(known.roles))
    states = []
    for position in known.positions:
        state = machine.state(position.facts)
        states.append(state)
        if machine.facts(state) != position.facts:
            return f"the state {_text(position.facts)} is not kept"
        if machine.terminal(state) != position.terminal:
            return f"terminal is {not position.terminal} in {_text(position.facts)}"
        for role in roles:
            legal = machine.legal(state, role)
            found = _different(f"legal for {known.roles[role]}", legal, position.legal[role], position.facts)
            if found or len(legal) != len(position.legal[role]):
                return found or "a legal move is listed twice"
        goals = [machine.goal_values(state, role) for role in roles]
        if goals != position.goals:
            return f"goals {goals}, not {position.goals}, in {_text(position.facts)}"
    for number, joint, expected in known.moves:
        facts = machine.facts(machine.next(states[number], joint))
        found = _different("next", facts, expected, known.positions[number].facts, joint)
        if found:
            return found
    return None


def batch_disagreement(machine: CircuitMachine, known: Record) -> str | None:
    """The same for a circuit, many states at once."""
    if list(machine.roles) != known.roles:
        return f"roles {machine.roles}, not {known.roles}"
    found = _different("at the start", machine.facts(machine.initial()), known.initial)
    if found:
        return found
    packed = np.stack([machine.pack(machine.state(position.facts)) for position in known.positions])
    legal, terminal = machine.legal_of(packed)
    goals = machine.goals_of(packed)
    for number, position in enumerate(known.positions):
        if bool(terminal[number]) != position.terminal:
            return f"terminal is {not position.terminal} in {_text(position.facts)}"
        for role, mine in enumerate(np.split(legal[number], machine.programs.role_start[1:-1])):
            moves = [machine.game.moves[role][i] for i in np.flatnonzero(mine)]
            found = _different(f"legal for {known.roles[role]}", moves, position.legal[role], position.facts)
            if found:
                return found
        greatest = [values[-1] if values else np.nan for values in position.goals]
        if not np.array_equal(goals[number], greatest, equal_nan=True):
            return f"goals {goals[number]}, not {greatest}, in {_text(position.facts)}"
    if known.moves:
        numbers = [number for number, _, _ in known.moves]
        joint = [
            [machine.move_index(i, move) if known.positions[number].legal[i] else -1 for i, move in enumerate(moves)]
            for number, moves, _ in known.moves
        ]
        nexts = machine.next_of(packed[numbers], np.array(joint, np.int32))
        for (number, moves, expected), words in zip(known.moves, nexts, strict=True):
            facts = machine.facts(machine.unpack(words))
            found = _different("next", facts, expected, known.positions[number].facts, moves)
            if found:
                return found
    return None


def compare(
    sheet: Sheet,
    known: Record,
    *,
    interpreter: bool = True,
    variants: Sequence[str] = VARIANTS,
    single: bool = False,
    eager: bool = True,
    watch: Watch | None = None,
) -> str | None:
    """What some way to play the sheet gets wrong of the recorded matches.

    `single` asks circuits for one state at a time as well, `eager` grounds with moved thresholds as well.
    """
    try:
        checked = _checked(sheet)
        if watch:
            watch("rules", checked.rules)
        found = disagreement(Interpreter(checked), known) if interpreter else None
        if found:
            return f"interpreter: {found}"
        seen: set[frozenset[Any]] = set()
        for name, rules in _groundings(sheet, checked, variants, eager, watch):
            if frozenset(rules) in seen:
                continue
            seen.add(frozenset(rules))
            try:
                ground_rules = ground(rules, checked.roles, variant="plain", limit_literals=_MOST_LITERALS)
            except LimitError:
                # Another variant is played then: nothing is wrong, but nothing was compared either.
                if watch:
                    watch(REFUSED, name)
                continue
            circuit = build_circuit(ground_rules)
            machine = CircuitMachine(compiled_game(circuit))
            if watch:
                watch(name, rules)
                watch("circuit", circuit)
                watch("programs", machine.programs)
            found = batch_disagreement(machine, known)
            if not found and single:
                found = disagreement(machine, known)
            if found:
                return f"circuit, {name}: {found}"
    except GameError as error:
        if TOO_LARGE not in str(error):
            return f"{type(error).__name__}: {error}"
        if watch:
            watch(REFUSED, "all")
    return None


def compiled(sheet: Sheet) -> tuple[list[str], bool]:
    """Compiles the sheet as for a match, and freed of its first position, whatever the game.

    What fails there for another reason than size; whether there is a circuit.
    """
    compilation = finished_compilation(_checked(sheet), freeing=lambda machine: True)
    lost = compilation.failed is not None and "ended " in compilation.failed
    return [*compilation.faults, *([str(compilation.failed)] if lost else [])], compilation.machine is not None


def _groundings(
    sheet: Sheet, checked: CheckedRules, variants: Sequence[str], eager: bool, watch: Watch | None
) -> Iterator[tuple[str, list[Any]]]:
    rewriter = Rewriter(checked.rules)
    for variant in variants:
        yield variant, rewriter.rules(variant)
    if not eager:
        return
    with moved_thresholds():
        again = _checked(sheet)
        if watch:
            watch("eager", again.rules)
        rewriter = Rewriter(again.rules)
        made = [(f"eager {variant}", rewriter.rules(variant)) for variant in variants if variant != "plain"]
    yield from made


@contextmanager
def moved_thresholds() -> Iterator[None]:
    """Within, rewritings happen wherever they are possible: what is right only by not happening is no good."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(demand, "_LARGE", 2.0))
        stack.enter_context(patch.object(rewrite, "_GAIN", 1e9))
        stack.enter_context(patch.object(unfold, "_LARGE", 0.0))
        stack.enter_context(patch.object(grounding, "_broken_up", _unfolded_always))
        stack.enter_context(patch.object(normal_form, "MAX_ALTERNATIVES", 2))
        yield


def _unfolded_always(rules: list[Rule], estimates: Estimates) -> tuple[list[Rule], Estimates]:
    """`_broken_up` as it is where unfolding gains, but for what gets far longer, which never does."""
    unfolded = grounding.unfold_large(rules, estimates)
    if unfolded is None or _literals(unfolded) > 2 * _literals(rules):
        return grounding._taken_apart(rules, estimates)
    return grounding._taken_apart(unfolded, Estimates(unfolded))


def _literals(rules: list[Rule]) -> int:
    return sum(len(rule.body) for rule in rules)


def _checked(sheet: Sheet) -> CheckedRules:
    return check(tuple(sheet))


def _different(what: str, found: Any, expected: Any, state: Any = None, joint: Any = None) -> str | None:
    """In words, where what was found is not what was expected; None where it is."""
    missing, wrong = set(expected) - set(found), set(found) - set(expected)
    if not missing and not wrong:
        return None
    where = [f" {word} {_text(facts)}" for word, facts in (("in", state), ("after", joint)) if facts is not None]
    parts = [f"{word} {_text(facts)}" for word, facts in (("lacks", missing), ("has wrongly", wrong)) if facts]
    return f"{what}{''.join(where)}: {', '.join(parts)}"


def _text(terms: Any) -> str:
    return " ".join(sorted(map(_term_text, terms)))


def _term_text(term: Term) -> str:
    return term if isinstance(term, str) else "(" + " ".join(map(_term_text, term)) + ")"
