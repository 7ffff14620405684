"""Percepts of roles in games of imperfect information (GDL-II), by the rules of `sees`.

Reference: Thielscher: A general game description language for incomplete information games, AAAI 2010.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules
from games.gdl.rules.terms import Literal, Rule, predicate
from games.machine import Term

_PERCEPT = "percept"


class Perception:
    """The percepts of each step of one game. Thread-safe.

    An interpreter of the same rules, in which `next` derives percepts in place of facts: these, too, depend on the
    state and the joint move.
    """

    def __init__(self, checked: CheckedRules) -> None:
        rules = [rule for rule in checked.rules if predicate(rule.head) != ("next", 1)]
        role, percept = "?role", "?percept"
        seen = Literal(True, ("sees", role, percept))
        rules.append(Rule(("next", (_PERCEPT, role, percept)), (seen,), len(rules)))
        self._machine = Interpreter(CheckedRules(tuple(rules), checked.roles, ()))

    def percepts(self, facts: Iterable[Term], joint_move: Sequence[Term], role: int) -> frozenset[Term]:
        """The percepts of a role (by index) after a joint move in the state of these facts.

        Raises `IllegalMoveError` for a move unknown to the rules, `LimitError` where evaluation does not end.
        """
        machine = self._machine
        seen = machine.facts(machine.next(machine.state(facts), joint_move))
        return frozenset(fact[2] for fact in seen if isinstance(fact, tuple) and fact[1] == machine.roles[role])
