"""States of games for the tests of boards."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

from games import rulesheets
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import check
from games.machine import Term
from protocol.kif import read, read_rulesheet


@dataclass(frozen=True)
class Step:
    """A state of a recorded match."""

    facts: frozenset[Term]
    legal: tuple[Term, ...]
    joint: tuple[Term, ...]


@dataclass(frozen=True)
class Sheet:
    """A rulesheet with its first state."""

    rules: tuple[Term, ...]
    initial: frozenset[Term]

    @classmethod
    def own(cls, name: str) -> Sheet:
        """One of the project's own rulesheets."""
        return cls.of(read_rulesheet(rulesheets.text(name)))

    @classmethod
    def of(cls, rules: tuple[Term, ...]) -> Sheet:
        """Any rulesheet."""
        machine = Interpreter(check(rules))
        return cls(rules, machine.facts(machine.initial()))


def recorded(corpus: Path, name: str) -> tuple[tuple[Term, ...], list[Step]]:
    """A rulesheet of the corpus and the steps of its first recorded match."""
    rules = read_rulesheet((corpus / f"{name}.kif").read_text())
    with gzip.open(corpus / "traces" / f"{name}.json.gz") as file:
        match = json.load(file)["games"][0]
    steps = [
        Step(
            facts=frozenset(read(" ".join(step["state"]))),
            legal=tuple(move for moves in step["legal"] or [] for move in read(" ".join(moves))),
            joint=tuple(read(" ".join(step["joint"] or []))),
        )
        for step in match["steps"]
    ]
    return rules, steps
