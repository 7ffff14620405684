"""Detection of the contents that mean an empty or a blocked square."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator

from agent.boards.board import Content, FactTable, Name, Reading, Square
from agent.boards.rulesheet import FACT, Rules, carries_over, is_integer, is_numbered, is_variable, read_atom
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
    start = next((state for state in table.states if state), ())
    counts = Counter(read[1] for fact in start if (read := reading.read(fact)) is not None)
    total = sum(counts.values())
    if not counts or len(domain) < 2:
        return None
    if table.possible:
        squares = len({read[0] for fact in table.possible if (read := reading.read(fact)) is not None})
    full = total >= FULL * squares
    if position < min(reading.positions) and total < squares:
        # Pieces with their squares, rather than squares with their contents.
        return None
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
        usable = full or (not table.possible and asks >= 0.5 and 2.2 * total > squares)
        if usable and share >= COMMON and share + asks > best_score:
            best, best_score = content, share + asks
    return best


def _asked_for(name: Name, position: int, rules: Rules) -> Counter[str]:
    """Counts the conditions in rules for a fact of this relation, by the constant at this position."""
    asked: Counter[str] = Counter()
    for _, body in rules.rules:
        pending = list(body)
        while pending:
            literal = pending.pop()
            if not isinstance(literal, tuple) or not literal:
                continue
            if literal[0] in ("not", "or"):
                pending.extend(literal[1:])
                continue
            atom = read_atom(literal)
            if atom is not None and atom[0] == (FACT, *name):
                argument = atom[1][position]
                if isinstance(argument, str) and not is_variable(argument):
                    asked[argument] += 1
    return asked


def blocked_contents(table: FactTable, reading: Reading, empty: Content | None, rules: Rules) -> Iterator[Content]:
    """Yields the contents of blocked squares: those that stand alone on their squares, or that no rule makes."""
    if reading.use != "piece" or len(reading.contents) != 1:
        return
    position = reading.contents[0]
    there = {
        read[1]
        for fact in table.start
        if (read := reading.read(fact)) is not None and isinstance(fact[1 + position], str)
    }
    there = {
        content
        for content in there
        if content != empty and not is_integer(content[-1]) and not set(content) & set(rules.roles)
    }
    stays = [
        {fact for fact in state if (read := reading.read(fact)) is not None and read[1] in there}
        for state in table.states
    ]
    for facts in stays[1:]:
        for fact in facts ^ stays[0]:
            read = reading.read(fact)
            there.discard(read[1] if read is not None else ())
    alone = _standing_alone(table, reading, there) if table.possible else []
    # Possible facts are an overestimate, so that perhaps no content seems to stand alone.
    yield from alone or _never_made(table, reading, there, rules)


def _standing_alone(table: FactTable, reading: Reading, there: Collection[Content]) -> list[Content]:
    """Returns the contents whose squares cannot have any other."""
    holds: dict[Square, set[Content]] = defaultdict(set)
    where: dict[Content, set[Square]] = defaultdict(set)
    for fact in table.facts:
        if (read := reading.read(fact)) is not None:
            holds[read[0]].add(read[1])
            where[read[1]].add(read[0])
    return [content for content in there if all(holds[square] == {content} for square in where[content])]


def _never_made(table: FactTable, reading: Reading, there: Collection[Content], rules: Rules) -> list[Content]:
    """Returns the most common content that no rule makes or removes; a removable one may look the same."""
    key, position = (FACT, *table.name), reading.contents[0]
    if position < min(reading.positions) or not (rules.carried(key) or rules.produced(key)):
        # No rules known, or pieces with their squares.
        return []
    made: set[str] = set()
    for head, body in rules.produced(key):
        if not _is_static(body, rules):
            made |= _content_of(head, body, position, rules)
    for head, body in rules.carried(key):
        # A rule that carries over this very content has a condition: the content may go.
        atom = read_atom(head)
        if atom is not None and len(body) > 1 and not is_variable(atom[1][position]):
            made |= _content_of(head, body, position, rules)
    found = Counter(
        read[1]
        for fact in table.start
        if (read := reading.read(fact)) is not None and read[1] in there and read[1][-1] not in made
    )
    return sorted(found, key=lambda content: (-found[content], content))[:1]


def _content_of(head: Term, body: tuple[Term, ...], position: int, rules: Rules) -> set[str]:
    atom = read_atom(head)
    return rules.allowed(atom[1][position], body) if atom is not None else set()


def _is_static(body: tuple[Term, ...], rules: Rules) -> bool:
    """Returns whether a rule's body depends on facts of the rulesheet only."""
    for literal in body:
        atom = read_atom(literal)
        if atom is None or atom[0] not in rules.ground:
            return False
    return not carries_over("", body)
