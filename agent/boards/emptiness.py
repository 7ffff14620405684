"""Detection of the contents that mean an empty or a blocked square."""

from __future__ import annotations

from collections import Counter

from agent.boards.board import Content, FactTable, Name, Reading
from agent.boards.rulesheet import (
    FACT,
    Rules,
    atoms_inside,
    carries_over,
    is_integer,
    is_numbered,
    is_variable,
    read_atom,
)
from games.machine import Term

ENOUGH = 0.7
"""Least sum for "empty": share of the squares at the start plus share of the conditions in rules.

In 150 sheets, empty squares get at least 0.87 and common pieces at most 0.75.
"""
COMMON = 0.25
"""Least share of the squares at the start for "empty", unless all other contents are numbers."""
FULL = 0.9
"""Least share of the squares with a fact where every square has one; below 1, as not all squares may be known."""


def empty_content(table: FactTable, reading: Reading, squares: int, rules: Rules) -> Content | None:
    """Returns the content of empty squares, or None where those have no fact. `squares` is the size of the board.

    Either every square has a fact at the start, and more than half of them have this content; or the content is common,
    and the rules ask for it by name more often than for others.
    """
    if len(reading.contents) != 1:
        return None
    position = reading.contents[0]
    domain = table.domains[position] or frozenset()
    if len(domain) >= 5 and (rules.order(domain)[1] == 3 or is_numbered(domain)):
        # Values of a counter.
        return None
    counts = Counter(read[1] for fact in table.facts if (read := reading.read(fact)) is not None)
    total = sum(counts.values())
    if not counts or len(domain) < 2:
        return None
    full = total >= FULL * squares
    asked = _asked_for(table.name, position, rules)
    all_asked = sum(asked.values())
    words = sorted(content for content in counts if content[-1] not in rules.roles and not is_integer(content[-1]))
    if full and len(words) == 1 and all(is_integer(word) for word in domain - set(words[0][-1:])):
        return words[0]
    best, best_score = None, ENOUGH
    for content in words:
        share = counts[content] / total
        asks = asked[content[-1]] / all_asked if all_asked else 0.0
        if full and share > 0.5:
            return content
        usable = full or (asks >= 0.5 and 2.2 * total > squares)
        if usable and share >= COMMON and share + asks > best_score:
            best, best_score = content, share + asks
    return best


def _asked_for(name: Name, position: int, rules: Rules) -> Counter[str]:
    """Counts the conditions in rules for a fact of this relation, by the constant at this position."""
    conditions = (atom for _, body in rules.rules for atom in atoms_inside(body) if atom[0] == (FACT, *name))
    words = (arguments[position] for _, arguments in conditions)
    return Counter(word for word in words if isinstance(word, str) and not is_variable(word))


def blocked_contents(table: FactTable, reading: Reading, empty: Content | None, rules: Rules) -> list[Content]:
    """Returns the contents of blocked squares: the most common one that no rule makes or removes."""
    if reading.use != "piece" or len(reading.contents) != 1:
        return []
    key, position = (FACT, *table.name), reading.contents[0]
    if position < min(reading.positions) or not (rules.carried(key) or rules.produced(key)):
        # No rules known, or pieces with their squares.
        return []
    made: set[str] = set(rules.roles)
    for head, body in rules.produced(key) + rules.carried(key):
        atom = read_atom(head)
        # A rule that carries over this very content has a condition: the content may go.
        goes = len(body) > 1 and atom is not None and not is_variable(atom[1][position])
        if atom is not None and (goes if carries_over(head, body) else not _is_static(body, rules)):
            made |= rules.allowed(atom[1][position], body)
    found = Counter(
        read[1]
        for fact in table.facts
        if isinstance(word := fact[1 + position], str)
        and not (word in made or is_integer(word))
        and (read := reading.read(fact)) is not None
        and read[1] != empty
    )
    return sorted(found, key=lambda content: (-found[content], content))[:1]


def _is_static(body: tuple[Term, ...], rules: Rules) -> bool:
    """Returns whether a rule's body depends on facts of the rulesheet only."""
    return all((atom := read_atom(literal)) is not None and atom[0] in rules.ground for literal in body)
