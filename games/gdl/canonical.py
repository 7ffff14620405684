"""A canonical form of rulesheets: what stays of one when names are exchanged and statements put in another order.

Managers scramble names, so that neither a sheet's text nor its tokens tell whether it was seen before. The sheet is
read as a graph instead: occurrences of terms, variables and names are vertices, joined where one is a part of the other
or stands for it. Colour refinement (`refinement`) tells vertices apart by their surroundings. Names that
it leaves alike are individualised, one at a time, and the colours refined again, as tools for graph isomorphism do
(McKay: Practical graph isomorphism, 1981).

Names that are alike usually are the images of one another under a symmetry of the rules (left and right, say), and then
it makes no difference which of them is individualised. So no alternatives are tried: were names alike without such a
symmetry, the same rules could get several digests. Different rules get different ones, unless 64-bit hashes collide or
colour refinement cannot tell apart how variables meet within one rule.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from games.gdl.refinement import Graph
from games.machine import Term
from games.roles import is_random_role

VERSION = 1
"""Goes into digests and keys: to be counted up with every change of what they are made of."""

MAX_VERTICES = 200_000
"""Larger sheets have no canonical form: it would take seconds. The largest in use have a tenth of it."""
MAX_REFINEMENTS = 400
"""Names that are individualised at most; whatever is alike after that stays so. Set by hand; not tuned."""

_KEPT = frozenset(
    ("role", "init", "true", "next", "legal", "does", "goal", "terminal", "distinct", "not", "or", "and", "<=")
)
"""Keywords that no manager replaces where they have a meaning. Some replace `base`, `input` and `sees`, which are taken
for names like others therefore: what is learnt of a game does not depend on them."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,9}", re.ASCII)
"""Kept by all managers."""
_UNORDERED = frozenset(("<=", "and", "or", "distinct"))
"""Whose parts may change places (but for the head of a rule)."""


@dataclass(frozen=True)
class CanonicalForm:
    """What tells a rulesheet from others, and each of its names from the others."""

    digest: str
    """Hexadecimal digits: the same for all sheets that differ in names and order alone."""
    labels: Mapping[str, str]
    """For each name a spelling that is the same in all these sheets; names that could not be told apart share one."""

    def key(self, term: Term) -> int:
        """64 bits that stand for a term made of the sheet's names: the same in all sheets with this digest."""
        return _hash(self._spelling(term))

    def _spelling(self, term: Term) -> str:
        if isinstance(term, str):
            return self.labels.get(term, term)
        return "(" + " ".join(map(self._spelling, term)) + ")"


def canonical_form(rulesheet: Iterable[Term], roles: Sequence[Term]) -> CanonicalForm | None:
    """The canonical form of rules that were checked; None where there are too many of them.

    The order of the roles is a part of the game: joint moves are listed in it. Takes 2 ms of CPU time for most sheets,
    and 22 ms for the slowest of 172.
    """
    builder = _Builder()
    statements = [builder.statement(statement) for statement in rulesheet]
    for place, role in enumerate(roles):
        builder.role(place, role)
    if len(builder.colours) > MAX_VERTICES:
        return None
    edges = np.array(builder.edges, np.uint64).reshape(-1, 3)
    graph = Graph(len(builder.colours), edges[:, 0].astype(np.int64), edges[:, 1].astype(np.int64), edges[:, 2])
    names = np.array(list(builder.names.values()), np.int64)
    colours = graph.refine(np.array(builder.colours, np.uint64))
    for _ in range(MAX_REFINEMENTS):
        found, where, count = np.unique(colours[names], return_inverse=True, return_counts=True)
        if len(found) == len(names):
            break
        count[count == 1] = len(names) + 1
        chosen = names[np.flatnonzero(where == count.argmin())[0]]
        colours[chosen] = _hash(f"chosen {int(colours[chosen])}")
        colours = graph.refine(colours)
    ordered = np.sort(colours[statements]).astype("<u8") if statements else np.zeros(0, "<u8")
    digest = hashlib.blake2b(f"rules {VERSION} ".encode() + ordered.tobytes(), digest_size=20).hexdigest()
    labels = {name: f"#{int(colours[vertex]):016x}" for name, vertex in builder.names.items()}
    return CanonicalForm(digest, labels)


class _Builder:
    """Collects the vertices, with the colours that they have by themselves, and the edges."""

    def __init__(self) -> None:
        self.colours: list[int] = []
        self.names: dict[str, int] = {}
        """The vertex of each name."""
        self.edges: list[tuple[int, int, int]] = []
        """Whole, part, and what kind of part."""
        self._variables: dict[str, int] = {}
        """The vertices of the present statement's variables."""
        self._hashes: dict[str, int] = {}

    def statement(self, statement: Term) -> int:
        """The vertex of a statement."""
        self._variables = {}
        if isinstance(statement, tuple) and len(statement) == 2 and statement[0] == "<=":
            statement = statement[1]
        return self._formula(statement)

    def role(self, place: int, role: Term) -> None:
        """Marks a role with its place among the roles."""
        self._variables = {}
        vertex = self._vertex(f"role {place} {is_random_role(role)}")
        self._join(vertex, self._term(role), "role")

    def _formula(self, formula: Term) -> int:
        """The vertex of a rule, a literal or a connective. Recursive: checked rules are not nested deep."""
        if isinstance(formula, str):
            formula = (formula,)
        head = formula[0] if formula else ""
        if head not in ("<=", "and", "or", "not"):
            return self._compound(formula)
        vertex = self._vertex(f"{head} {len(formula)}")
        for place, part in enumerate(formula[1:]):
            kind = "conclusion" if head == "<=" and place == 0 else "part"
            self._join(vertex, self._formula(part), kind)
        return vertex

    def _term(self, term: Term) -> int:
        if isinstance(term, tuple):
            return self._compound(term)
        if term.startswith("?"):
            if term not in self._variables:
                self._variables[term] = self._vertex("variable")
            return self._variables[term]
        if _is_kept(term):
            return self._vertex(f"token {term}")
        if term not in self.names:
            self.names[term] = self._vertex("name")
        return self.names[term]

    def _compound(self, term: tuple[Term, ...]) -> int:
        """The vertex of an atom or a function's term; tokens that are kept belong to its colour, the rest are parts."""
        ordered = not term or term[0] not in _UNORDERED
        kept = [part if isinstance(part, str) and _is_kept(part) else "" for part in term]
        if not ordered:
            kept.sort()
        vertex = self._vertex("term " + " ".join(token or "." for token in kept))
        for place, part in enumerate(term):
            if not (isinstance(part, str) and _is_kept(part)):
                self._join(vertex, self._term(part), f"{place}" if ordered else "part")
        return vertex

    def _vertex(self, description: str) -> int:
        self.colours.append(self._hash(description))
        return len(self.colours) - 1

    def _join(self, whole: int, part: int, kind: str) -> None:
        self.edges.append((whole, part, self._hash(kind)))

    def _hash(self, text: str) -> int:
        found = self._hashes.get(text)
        if found is None:
            found = self._hashes[text] = _hash(text)
        return found


def _is_kept(token: str) -> bool:
    return token in _KEPT or _INTEGER.fullmatch(token) is not None


def _hash(text: str) -> int:
    """64 bits of a text, the same in all processes."""
    digest = hashlib.blake2b(f"{VERSION} {text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
