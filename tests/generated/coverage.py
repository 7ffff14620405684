"""What random rulesheets have put to the test: rewriting steps that fired, parts of circuits.

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
from tests.generated.agreement import REFUSED, Record

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

    def begin(self) -> None:
        """Starts with another program."""
        self.counts.update(self._seen)
        self._seen = set()

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
        if stage == "rules":
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
