"""Facts about a rulesheet's arguments: their constants, their order, and which facts never change.

Everything is an overestimate from the text alone; no rule is evaluated. Terms that are no sensible rules are skipped.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

from games.machine import Term

Key: TypeAlias = tuple[str, str, int]
"""A relation: its kind, its name, and its number of arguments.

Kinds are "fact" (of states), "move", "base" and "input" (declarations), and "" for the rules' own relations.
"""
Atom: TypeAlias = tuple[Key, tuple[Term, ...]]

FACT, MOVE, OWN = "fact", "move", ""

_FACT_WORDS = frozenset(("true", "next", "init"))
_MOVE_WORDS = frozenset(("does", "legal"))
_IGNORED = frozenset(("not", "distinct", "or", "and", "<=", "goal", "terminal", "sees"))

MAX_ROUNDS = 60
"""Most rounds of the search for constants; real sheets need fewer than ten."""
MAX_STATEMENTS = 50_000
"""Most statements that are read, to bound the time."""

_NATURAL = re.compile(r"(\d+)")


class Rules:
    """A rulesheet's structure."""

    def __init__(self, rules: Sequence[Term] = ()) -> None:
        self.roles: tuple[str, ...] = ()
        self.ground: dict[Key, list[tuple[str, ...]]] = defaultdict(list)
        """Facts of the rulesheet whose arguments are all constants, by relation."""
        self.rules: list[tuple[Term, tuple[Term, ...]]] = []
        """Head and body of each rule."""
        self.rank: dict[str, int] = {}
        """Constants with their rank by first mention."""
        roles: dict[str, None] = {}
        for statement in rules[:MAX_STATEMENTS]:
            if not isinstance(statement, tuple) or not statement:
                continue
            if statement[0] == "<=" and len(statement) > 1:
                self.rules.append((statement[1], statement[2:]))
            else:
                self.rules.append((statement, ()))
                if statement[0] == "role" and len(statement) == 2 and isinstance(statement[1], str):
                    roles[statement[1]] = None
                elif isinstance(statement[0], str) and statement[0] != "init":
                    arguments = _constants(statement[1:])
                    if arguments:
                        self.ground[OWN, statement[0], len(arguments)].append(arguments)
            self._count(statement)
        self.roles = tuple(roles)
        self._chains = [chain for key in self.ground if key[2] == 2 if (chain := _chain(self.ground[key]))]
        self.constants = self._find_constants()

    def _count(self, statement: Term) -> None:
        pending = [statement]
        while pending:
            term = pending.pop()
            if isinstance(term, str):
                self.rank.setdefault(term, len(self.rank))
            else:
                pending.extend(reversed(term))

    def _find_constants(self) -> dict[Key, list[set[str]]]:
        """Computes a superset of each argument's constants, as the fixed point of the rules one argument at a time.

        A variable's constants are those that all its occurrences in the positive body allow. A move's first argument is
        the role. Declarations bound facts and moves. (Domain computation as in S. Schiffel and M. Thielscher,
        "Fluxplayer", 2007.)
        """
        found: dict[Key, list[set[str]]] = {}
        heads: list[tuple[Atom, list[Atom], list[Atom]]] = []
        used_by: dict[Key, list[int]] = defaultdict(list)
        for atom, body in self._sources():
            certain = [seen for literal in body if (seen := read_atom(literal)) is not None]
            either = [seen for literal in body for seen in _alternatives(literal)]
            for key, _ in {*certain, *either}:
                used_by[key].append(len(heads))
            heads.append((atom, certain, either))
            found.setdefault(atom[0], [set() for _ in atom[1]])
        pending = dict.fromkeys(range(len(heads)))
        for _ in range(MAX_ROUNDS):
            again: dict[int, None] = {}
            for index in pending:
                (key, arguments), certain, either = heads[index]
                grew = False
                for position, argument in enumerate(arguments):
                    new = _allowed(argument, certain, either, found) - found[key][position]
                    if new:
                        found[key][position] |= new
                        grew = True
                if grew:
                    again.update(dict.fromkeys(used_by[key]))
            if not again:
                break
            pending = again
        for declared, kind in (("base", FACT), ("input", MOVE)):
            for (other, name, count), bounds in list(found.items()):
                known = found.get((kind, name, count)) if other == declared else None
                if known is not None:
                    for constants, bound in zip(known, bounds, strict=True):
                        constants &= bound or constants
        return found

    def _sources(self) -> Iterator[tuple[Atom, tuple[Term, ...]]]:
        """Yields each rule's head and body; where variables stand for whole moves or facts, also the terms inside."""
        handed = {
            kind
            for head, _ in self.rules
            if isinstance(head, tuple) and head and isinstance(head[0], str) and is_variable(head[-1])
            for kind, words in ((MOVE, _MOVE_WORDS), (FACT, _FACT_WORDS))
            if head[0] in words and len(head) == 2 + (kind == MOVE)
        }
        for head, body in self.rules:
            atom = read_atom(head)
            if atom is None:
                continue
            yield atom, body
            for argument in atom[1] if atom[0][0] == OWN and handed else ():
                if isinstance(argument, tuple) and argument and isinstance(argument[0], str):
                    for kind in sorted(handed):
                        role = (atom[1][0],) if kind == MOVE else ()
                        yield ((kind, argument[0], len(argument) - 1), role + argument[1:]), body

    def order(self, constants: Collection[str]) -> tuple[tuple[str, ...], int]:
        """Returns constants in order, and the strength of the order: 3 by number or by a successor relation, 2 by
        spelling, 1 by first mention.

        Missing integers are filled in.
        """
        natural = tuple(sorted(constants, key=natural_key))
        if constants and all(is_integer(value) for value in constants):
            low, high = int(natural[0]), int(natural[-1])
            # Integers with leading zeros, or far apart, are left alone.
            if high - low < 4 * len(natural) and all(str(int(value)) == value for value in natural):
                return tuple(map(str, range(low, high + 1))), 3
            return natural, 3
        for chain in self._chains:
            if all(value in chain for value in constants):
                ordered = tuple(sorted(constants, key=chain.__getitem__))
                if len(ordered) > 1 and chain[ordered[-1]] - chain[ordered[0]] == len(ordered) - 1:
                    return (natural if ordered[::-1] == natural else ordered), 3
        if _alike(natural):
            return natural, 2
        if all(value in self.rank for value in constants):
            return tuple(sorted(constants, key=self.rank.__getitem__)), 1
        return natural, 1

    def is_latched(self, key: Key) -> bool:
        """Returns whether facts of this relation stay for good: their only rule carries them over unconditionally."""
        produced = [(head, body) for head, body in self.rules if _produces(head, key)]
        return bool(produced) and all(len(body) == 1 and carries_over(head, body) for head, body in produced)

    def produced(self, key: Key) -> list[tuple[Term, tuple[Term, ...]]]:
        """Returns the rules that make new facts of this relation true in the next state."""
        return [(head, body) for head, body in self.rules if _produces(head, key) and not carries_over(head, body)]

    def carried(self, key: Key) -> list[tuple[Term, tuple[Term, ...]]]:
        """Returns the rules that carry facts of this relation over to the next state."""
        return [(head, body) for head, body in self.rules if _produces(head, key) and carries_over(head, body)]

    def allowed(self, argument: Term, body: Sequence[Term]) -> set[str]:
        """Returns a superset of the constants of a term in the head of a rule with this body."""
        certain = [atom for literal in body if (atom := read_atom(literal)) is not None]
        either = [atom for literal in body for atom in _alternatives(literal)]
        return _allowed(argument, certain, either, self.constants)


def read_atom(literal: Term) -> Atom | None:
    """Returns relation and arguments of a positive literal; `true`, `next` and `init` mean the same fact."""
    if isinstance(literal, str):
        return None
    if not literal or not isinstance(literal[0], str):
        return None
    word = literal[0]
    if word in _FACT_WORDS:
        return _inner(FACT, literal[1], ()) if len(literal) == 2 else None
    if word in _MOVE_WORDS:
        return _inner(MOVE, literal[2], (literal[1],)) if len(literal) == 3 else None
    if word == "base" and len(literal) == 2:
        return _inner("base", literal[1], ())
    if word == "input" and len(literal) == 3:
        return _inner("input", literal[2], (literal[1],))
    if word in _IGNORED:
        return None
    return (OWN, word, len(literal) - 1), literal[1:]


def atoms_inside(body: Sequence[Term]) -> Iterator[Atom]:
    """Yields a body's atoms, those inside negations and disjunctions included."""
    pending = list(reversed(body))
    while pending:
        literal = pending.pop()
        if isinstance(literal, tuple) and literal and literal[0] in ("not", "or"):
            pending.extend(literal[1:])
        elif (atom := read_atom(literal)) is not None:
            yield atom


def bare(literal: Term) -> Term:
    """Returns a literal without its negation."""
    while isinstance(literal, tuple) and len(literal) == 2 and literal[0] == "not":
        literal = literal[1]
    return literal


def _inner(kind: str, term: Term, before: tuple[Term, ...]) -> Atom | None:
    if isinstance(term, str):
        return ((kind, term, 0), before) if not is_variable(term) else None
    if not term or not isinstance(term[0], str):
        return None
    return (kind, term[0], len(term) - 1), before + term[1:]


def _alternatives(literal: Term) -> Iterator[Atom]:
    """Yields the positive atoms of a disjunction."""
    if isinstance(literal, tuple) and literal and literal[0] == "or":
        for part in literal[1:]:
            if (atom := read_atom(part)) is not None:
                yield atom


def _allowed(
    argument: Term, certain: Iterable[Atom], either: Iterable[Atom], found: dict[Key, list[set[str]]]
) -> set[str]:
    if not isinstance(argument, str):
        return set()
    if not is_variable(argument):
        return {argument}
    result: set[str] | None = None
    for key, arguments in certain:
        for position, other in enumerate(arguments):
            if other == argument:
                here = _at(found, key, position)
                result = set(here) if result is None else result & here
    if result is not None:
        return result
    result = set()
    for key, arguments in either:
        for position, other in enumerate(arguments):
            if other == argument:
                result |= _at(found, key, position)
    return result


def _at(found: dict[Key, list[set[str]]], key: Key, position: int) -> set[str]:
    known = found.get(key)
    return known[position] if known is not None and position < len(known) else set()


def _produces(head: Term, key: Key) -> bool:
    if not (isinstance(head, tuple) and len(head) == 2 and head[0] == "next"):
        return False
    atom = read_atom(head)
    return atom is not None and atom[0] == key


def carries_over(head: Term, body: Sequence[Term]) -> bool:
    """Returns whether a rule for the next state has the same fact, true now, as a condition."""
    return isinstance(head, tuple) and any(literal == ("true", *head[1:]) for literal in body)


def is_variable(term: Term) -> bool:
    """Returns whether a term is a variable."""
    return isinstance(term, str) and term.startswith("?")


def is_integer(text: str) -> bool:
    """Returns whether a constant is an integer of a reasonable size."""
    digits = text[1:] if text.startswith("-") else text
    return digits.isascii() and digits.isdigit() and len(digits) < 10


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Key that sorts texts with the numbers in them by value."""
    if is_integer(text):
        return ((0, int(text), ""),)
    parts = _NATURAL.split(text)
    return tuple(
        (0, int(part), "") if index % 2 and len(part) < 10 else (1, 0, part) for index, part in enumerate(parts) if part
    )


def _alike(constants: Sequence[str]) -> bool:
    """Returns whether all are single letters, or the same word followed by a number."""
    if len(constants) < 2:
        return False
    if all(len(value) == 1 and value.isalnum() for value in constants):
        return True
    return is_numbered(constants)


def is_numbered(constants: Collection[str]) -> bool:
    """Returns whether all are the same word followed by a number."""
    parts = [_NATURAL.split(value) for value in constants]
    return all(len(part) == 3 and part[2] == "" and part[0] == parts[0][0] for part in parts)


def _constants(terms: Iterable[Term]) -> tuple[str, ...] | None:
    found: list[str] = []
    for term in terms:
        if not isinstance(term, str) or is_variable(term):
            return None
        found.append(term)
    return tuple(found)


def _chain(pairs: Sequence[tuple[str, ...]]) -> dict[str, int] | None:
    """Returns positions along a successor relation, or None where it is none."""
    following = {pair[0]: pair[1] for pair in pairs}
    if len(following) != len(set(pairs)) or len(set(following.values())) != len(following):
        return None
    targets = set(following.values())
    position: dict[str, int] = {}
    # Separate chains in one relation, such as rows and columns, get distant numbers.
    start = 0
    for first in following:
        if first in targets:
            continue
        current: str | None = first
        while current is not None:
            position[current] = start
            start += 1
            current = following.get(current)
        start += len(following) + 1
    return position if len(position) == len(following.keys() | targets) else None
