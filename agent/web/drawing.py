"""Positions as pictures and tables, and unseen positions computed: the work of `agent.web.pictures`' child process.

Rules are interpreted here, and looked through for boards, so it may take any time and memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

from agent.boards.layout import Layout
from games.machine import Term

MOST_FACTS = 3000
"""Most facts in the table of a position."""

Layouts: TypeAlias = dict[str, Layout]
"""Layouts by the matches' keys."""


def work(pipe: Connection) -> None:
    """Answers requests: each is a function below and its arguments but for the first."""
    layouts: Layouts = {}
    while True:
        request: tuple[Callable[..., object], tuple[object, ...]] = pipe.recv()
        function, arguments = request
        pipe.send(function(layouts, *arguments))


def replay(
    _: Layouts, rules: tuple[Term, ...], moves: Sequence[tuple[Term, ...]], known: frozenset[Term]
) -> list[frozenset[Term]]:
    """Returns the positions before each of the joint moves; none if these do not lead to the known position.

    Raises `GameError`.
    """
    # Imported here, as pages rarely need them.
    from games.gdl.interpreter.machine import Interpreter
    from games.gdl.rules.check import check

    machine = Interpreter(check(rules))
    state = machine.initial()
    found = []
    for joint_move in moves:
        found.append(machine.facts(state))
        state = machine.next(state, joint_move)
    return found if machine.facts(state) == known else []


def find(
    layouts: Layouts,
    key: str,
    states: Sequence[frozenset[Term]],
    rules: Sequence[Term],
    kept: Sequence[str],
) -> None:
    """Finds the layout of a match, and forgets those of matches that are not `kept`."""
    for other in layouts.keys() - set(kept):
        del layouts[other]
    layouts[key] = Layout.find(states, (), rules)


def draw(
    layouts: Layouts,
    key: str,
    roles: Sequence[str],
    facts: frozenset[Term],
    before: frozenset[Term] | None,
    legal: Sequence[Term],
    last: Sequence[Term],
) -> dict[str, Any]:
    """Returns a position in the layout of its match, see `Pictures.draw`."""
    layout = layouts[key]
    drawing = layout.draw(facts, before, legal, last)
    return {
        "colours": layout.colours(roles),
        "svg": list(drawing.svg),
        "rest": [[text, new] for text, new in drawing.rest[:MOST_FACTS]],
        "gone": list(drawing.gone[:MOST_FACTS]),
        "choices": {square: list(moves) for square, moves in drawing.choices.items()},
    }
