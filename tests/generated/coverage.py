"""What random rulesheets have put to the test: features of the sheets, rewriting steps that fired, parts of circuits.

A step that never fired was not tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from games.gdl.circuit import circuit as building
from games.gdl.circuit.outputs import mark_live
from games.gdl.circuit.pool import GATE, LOOP, MOVE_SET
from games.gdl.grounding import ground as grounding
from games.gdl.grounding import split_moves
from games.gdl.interpreter.unfolding import UnfoldedRules
from games.gdl.running.layout import ARITY, FLIP, MAX_ARITY
from protocol.constants import spellings
from tests.generated.agreement import REFUSED, Record

Term = Any

STEPS = {
    "or ": "a disjunction got a predicate",
    "join ": "a body was split",
    "part ": "a move was taken apart",
    "domain ": "a variable was bound to its domain",
    "value ": "a variable of a negation was bound to its domain",
    "demand ": "a relation was derived on demand",
    "possible ": "demand depended on the state",
}
"""What the names of auxiliary relations that a stage makes begin with."""

MOVED = ", thresholds moved"

UNFOLDED = "a large relation was unfolded, thresholds moved"

FEATURES = (
    "two moves in one rule",
    "moves of several roles in one rule",
    "role as variable",
    "or",
    "nested or",
    "not",
    "not of several literals",
    "not distinct",
    "distinct",
    "distinct before its variables are bound",
    "term nested two deep",
    "alias of does",
    "two aliases of does in one rule",
    "negated does",
    "recursion",
    "hundred facts",
    "legal in a body",
    "three roles",
    "distinct from a constant",
    "or within or, three deep",
    "or within not",
    "a fact as variable",
    "recursion that builds terms",
    "a term that grows with moves",
    "goals by other goals",
    "goals by there being no other",
    "a variable of a negation alone",
    "a variable of distinct alone",
    "a head that its callers bind",
    "a head that its callers bind, negated in another",
    "a head whose role nothing binds",
    "does below legal, goal or terminal",
)

PARENTHESES = {
    "role": "a role",
    "init": "a fact",
    "true": "a fact",
    "next": "a fact",
    "legal": "a move",
    "does": "a move",
}
"""What the last argument of a relation is, where in parentheses."""

ARGUMENT, MIXED = "another argument", "a constant with parentheses and without"

MATCHES = (
    "a dead end",
    "a dead end for some roles only",
    "a role that never has a move",
    "several goals at once",
    "no goal",
    "goals in a state that is not terminal",
)
"""What was come across in play. In a dead end (not terminal, and some role has no legal move) the match goes on: that
role does nothing."""

APART = "moves of several roles were taken apart in one rule"

CIRCUITS = (
    "positive cycles",
    "sets of moves",
    "a fluent that never changes",
    "gates merged into their readers",
    "shared pairs factored out",
    "blocks swept until nothing changes",
    "complements of single slots",
    "gates stored as complements",
    "gates of the largest arity",
    "a state of several words",
)

TOO_LARGE = ("the sheet", "a variant of its grounding")

INTERPRETER = ("functions unfolded", "recursive predicates", "facts beside rules")


class Coverage:
    """Counts, by what was seen, of the programs in which it was."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._seen: set[str] = set()

    def begin(self, sheet: Sequence[Term]) -> None:
        """Starts with another program."""
        self.counts.update(self._seen)
        self._seen = set(_features(sheet))

    def played(self, known: Record) -> None:
        """Takes note of the matches that were recorded."""
        note = self._seen.add
        for position in known.positions:
            without = [not moves for moves in position.legal]
            if any(without) and not position.terminal:
                note("a dead end")
                if not all(without):
                    note("a dead end for some roles only")
            if any(len(values) > 1 for values in position.goals):
                note("several goals at once")
            if not all(position.goals):
                note("no goal")
            if not position.terminal and any(position.goals):
                note("goals in a state that is not terminal")
        if any(not any(position.legal[role] for position in known.positions) for role in range(len(known.roles))):
            note("a role that never has a move")

    def watch(self, stage: str, made: Any) -> None:
        """Takes note of what a stage made."""
        note = self._seen.add
        if stage == "written":
            self._seen.update(_in_parentheses(made))
        elif stage == "rules":
            program = UnfoldedRules(made)
            if program.unfoldings:
                note("functions unfolded")
            if program.recursive:
                note("recursive predicates")
            if any(name.endswith(" given") for name, _ in program.facts):
                note("facts beside rules")
            if split_moves._unfold_aliases(list(made)) != list(made):
                note("an alias of does was unfolded")
            self._note_steps(made, "")
        elif stage == "circuit":
            signals = made.pool.kind[: made.pool.counts[0]]
            if LOOP in signals:
                note("positive cycles")
            if MOVE_SET in signals:
                note("sets of moves")
            if made.always:
                note("a fluent that never changes")
            if len(made.fluents) > 64:
                note("a state of several words")
        elif stage == "programs":
            runs = np.concatenate((made.legal.runs, made.next.runs, made.goal.runs))
            arity, flip = runs[:, ARITY], runs[:, FLIP]
            if (arity == 0).any():
                note("blocks swept until nothing changes")
            if ((arity == 1) & (flip == 1)).any():
                note("complements of single slots")
            if ((arity > 1) & (flip == 1)).any():
                note("gates stored as complements")
            if (arity == MAX_ARITY).any():
                note("gates of the largest arity")
        elif stage == REFUSED:
            note(TOO_LARGE[made != "all"])
        else:
            self._note_steps(made, MOVED if stage.startswith("eager") else "")

    def _note_steps(self, rules: Sequence[Any], suffix: str) -> None:
        for rule in rules:
            for start, step in STEPS.items():
                if str(rule.head[0]).startswith(start):
                    self._seen.add(step + suffix)
        roles: dict[Any, set[Any]] = {}
        for rule in rules:
            if str(rule.head[0]).startswith("part "):
                roles[rule.head[0]] = {literal.atom[1] for literal in rule.body if literal.atom[0] == "does"}
                roles[rule.head[0]].update(*[roles.get(literal.atom[0], ()) for literal in rule.body])
        for rule in rules:
            whose = set().union(*[roles.get(literal.atom[0], ()) for literal in rule.body])
            if len([role for role in whose if not role.startswith("?")]) > 1:
                self._seen.add(APART)

    @contextmanager
    def watching_circuits(self) -> Iterator[None]:
        """Within, takes note of what unfolding, rebuilding and factoring do as well."""
        rebuild, factor = building.rebuild, building.factor

        def rebuilding(pool: Any, outputs: Any, *arguments: Any) -> Any:
            made = rebuild(pool, outputs, *arguments)
            if _gates(*made) < _gates(pool, outputs):
                self._seen.add("gates merged into their readers")
            return made

        def factoring(pool: Any, outputs: Any, **options: Any) -> Any:
            before = _gates(pool, outputs)
            made = factor(pool, outputs, **options)
            if _gates(made, outputs) > before:
                self._seen.add("shared pairs factored out")
            return made

        unfold = grounding.unfold_large

        def unfolding(rules: Sequence[Any], estimates: Any) -> Any:
            made = unfold(rules, estimates)
            if made is not None:
                self._seen.add(UNFOLDED)
            return made

        with (
            patch.object(building, "rebuild", rebuilding),
            patch.object(building, "factor", factoring),
            patch.object(grounding, "unfold_large", unfolding),
        ):
            yield

    def total(self) -> Counter[str]:
        """The counts, of all programs so far."""
        self.counts.update(self._seen)
        self._seen = set()
        return self.counts

    @staticmethod
    def table(counts: Counter[str], programs: int) -> str:
        """Counts as lines, with a zero for what never happened."""
        parts = {
            "sheets have": FEATURES,
            "sheets have in parentheses": (*dict.fromkeys(PARENTHESES.values()), ARGUMENT, MIXED),
            "matches came across": MATCHES,
            "rewriting steps": (
                *STEPS.values(),
                APART,
                "an alias of does was unfolded",
                *[step + MOVED for step in STEPS.values()],
                UNFOLDED,
            ),
            "circuits": CIRCUITS,
            "interpreter": INTERPRETER,
            "refused as too large, and not compared": TOO_LARGE,
        }
        lines = []
        for title, names in parts.items():
            lines.append(f"{title}:")
            for name in names:
                share = 100 * counts[name] / max(1, programs)
                lines.append(f"  {counts[name]:7d}  {share:5.1f} %  {name}")
        return "\n".join(lines)


def _gates(pool: Any, outputs: Any) -> int:
    live = mark_live(pool, *outputs.roots())
    return int((live & (pool.kind[: len(live)] == GATE)).sum())


def _literals(parts: Sequence[Term], positive: bool = True) -> Iterator[tuple[bool, Term]]:
    for part in parts:
        if not isinstance(part, str) and part[0] in ("or", "and"):
            yield from _literals(part[1:], positive)
        elif not isinstance(part, str) and part[0] == "not":
            yield from _literals(part[1:], not positive)
        else:
            yield positive, part


def _depth(term: Term) -> int:
    return 0 if isinstance(term, str) else 1 + max([0, *map(_depth, term[1:])])


def _has_or(term: Term) -> bool:
    return not isinstance(term, str) and (term[0] == "or" or any(map(_has_or, term)))


def _ors(term: Term) -> int:
    """How deep disjunctions are nested, a negated conjunction being one."""
    if isinstance(term, str) or term[0] not in ("or", "and", "not"):
        return 0
    return (term[0] == "or") + max(map(_ors, term[1:]))


def _has_or_in_not(term: Term, negated: bool = False) -> bool:
    if isinstance(term, str) or term[0] not in ("or", "and", "not"):
        return False
    if negated and term[0] == "or":
        return True
    return any(_has_or_in_not(part, negated or term[0] == "not") for part in term[1:])


def _variables(term: Term) -> set[str]:
    if isinstance(term, str):
        return {term} if term.startswith("?") else set()
    return set().union(*map(_variables, term))


def _name(head: Term) -> str:
    return head if isinstance(head, str) else head[0]


def _relations(body: Sequence[Term]) -> set[str]:
    return {_name(part) for _, part in _literals(body)}


def _in_parentheses(sheet: Sequence[Term]) -> Iterator[str]:
    inside, outside = spellings(tuple(sheet))
    if inside.keys() & outside.keys():
        yield MIXED
    pending = list(sheet)
    while pending:
        term = pending.pop()
        if isinstance(term, str):
            continue
        for part in term[1:]:
            if not isinstance(part, str) and len(part) == 1 and term[0] not in ("<=", "not", "or", "and"):
                yield PARENTHESES.get(term[0], ARGUMENT) if part is term[-1] else ARGUMENT
        pending += term[1:]


def _features(sheet: Sequence[Term]) -> Iterator[str]:
    rules = [statement for statement in sheet if statement[0] == "<="]
    on_moves = {"does"}
    while more := {_name(head) for _, head, *body in rules if on_moves & _relations(body)} - on_moves:
        on_moves |= more
    if on_moves & {"legal", "goal", "terminal"}:
        yield "does below legal, goal or terminal"
    if sum(statement[0] == "role" for statement in sheet) > 2:
        yield "three roles"
    if len(sheet) - len(rules) > 100:
        yield "hundred facts"
    asked: set[str] = set()
    aliases = {
        head[0]
        for _, head, *body in rules
        if len(body) == 1 and body[0][0] == "does" and not isinstance(head, str) and head[0] != "next"
    }
    for _, head, *body in rules:
        literals = list(_literals(body))
        binding = _variables(tuple([part for positive, part in literals if positive and part[0] != "distinct"]))
        if head[0] in ("legal", "goal") and not _variables(head) <= binding:
            yield "a head whose role nothing binds"
        elif not _variables(head) <= binding:
            yield "a head that its callers bind"
            if asked & {part[0] for positive, part in literals if not positive}:
                yield "a head that its callers bind, negated in another"
            asked.add(head[0])
        elif any(positive and not _variables(part) <= binding for positive, part in literals):
            yield "a variable of distinct alone"
        elif any(part[0] != "distinct" and not _variables(part) <= binding for _, part in literals):
            yield "a variable of a negation alone"
        if any(part[0] == "distinct" and not all(map(_variables, part[1:])) for _, part in literals):
            yield "distinct from a constant"
        if max([0, *map(_ors, body)]) > 2:
            yield "or within or, three deep"
        if any(map(_has_or_in_not, body)):
            yield "or within not"
        if any(part[0] == "true" and not isinstance(part[1], tuple) and part[1][0] == "?" for _, part in literals):
            yield "a fact as variable"
        if head[0] in ("list", "lists"):
            yield "recursion that builds terms"
        if head[:1] == ("next",) and head[1][0] == "height":
            yield "a term that grows with moves"
        if head[0] == "goal" and any(part[0] == "goal" for _, part in literals):
            yield "goals by other goals"
            if any(part[0] == "goal" and not positive for positive, part in literals):
                yield "goals by there being no other"
        if any(not positive and part[0] == "distinct" for positive, part in literals):
            yield "not distinct"
        moves = [part for positive, part in literals if positive and part[0] == "does"]
        if sum(positive and part[0] in aliases for positive, part in literals) > 1:
            yield "two aliases of does in one rule"
        if len(moves) > 1:
            yield "two moves in one rule"
        if len({move[1] for move in moves}) > 1:
            yield "moves of several roles in one rule"
        if any(move[1].startswith("?") for move in moves):
            yield "role as variable"
        if any(_has_or(part) for part in body):
            yield "or"
        if any(_has_or(part) and any(map(_has_or, part[1:])) for part in body if not isinstance(part, str)):
            yield "nested or"
        bound: set[str] = set()
        for part in body:
            kind = part if isinstance(part, str) else part[0]
            if kind == "not":
                yield "not"
                if not isinstance(part[1], str) and part[1][0] in ("or", "and"):
                    yield "not of several literals"
            elif kind == "distinct":
                yield "distinct"
                if not _variables(part) <= bound:
                    yield "distinct before its variables are bound"
            elif kind not in ("or", "and"):
                bound |= _variables(part)
            if _depth(part) > 3:
                yield "term nested two deep"
        name = head if isinstance(head, str) else head[0]
        if moves and len(body) == 1 and name not in ("next", "goal", "terminal"):
            yield "alias of does"
        if any(not positive and part[0] == "does" for positive, part in literals):
            yield "negated does"
        if any(part == name or part[0] == name for _, part in literals):
            yield "recursion"
        if any(part[0] == "legal" for _, part in literals):
            yield "legal in a body"
