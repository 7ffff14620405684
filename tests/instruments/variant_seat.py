"""One side of `variant`: engines of the checkout that `PYTHONPATH` names, asked and answering in lines of JSON.

A program of its own, which runs in checkouts that lack it. Terms are written as in rulesheets.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from agent.lab.tournament.engine_player import make_named_engine
from agent.lab.tournament.openings import after
from agent.search.engine import Engine, Limit, consider, limited
from agent.search.learning.memory import SheetMemory, Store
from agent.search.registry import engines_for, warm_up
from agent.sheet import Sheet, load
from games.machine import State, StateMachine
from protocol.kif import read_one, write

WHOLE = "agent"
"""The engine that the agent itself would choose; other names are those of `tournament`."""


class VariantSeat:
    """Plays one side of one match after the other."""

    def __init__(
        self, engine: str, seconds: float, start_seconds: float, settings: dict[str, str], memory: str | None
    ) -> None:
        """`settings` are names of modules' constants that no kernel is compiled with, and their values; `memory` is the
        folder of what was learnt of games."""
        for name, value in settings.items():
            module, _, constant = name.rpartition(".")
            found = importlib.import_module(module)
            if not hasattr(found, constant):
                raise AttributeError(f"{module} has no {constant}")
            setattr(found, constant, ast.literal_eval(value))
        warm_up()
        self._name, self._seconds, self._start_seconds = engine, seconds, start_seconds
        self._memory = None if memory is None else Store(Path(memory))
        self._machines: dict[str, tuple[Sheet, StateMachine]] = {}
        self._sheet: Sheet
        self._machine: StateMachine
        self._engines: dict[int, Engine] = {}
        self._state: State

    def begin(self, game: str, roles: list[int], opening: list[list[str]]) -> dict[str, Any]:
        """Takes roles of a match after an opening, and prepares."""
        if game not in self._machines:
            sheet = load(game)
            self._machines = {game: (sheet, sheet.machine())}
        self._sheet, machine = self._machines[game]
        self._machine = machine
        self._state = after(machine, [list(map(read_one, joint_move)) for joint_move in opening])
        self._engines = {role: self._make(role) for role in roles}
        for engine in self._engines.values():
            engine.begin(self._state)
            if self._start_seconds:
                with limited(np.zeros(1, np.uint8), self._start_seconds) as halt:
                    engine.prepare(halt, lambda opinion: None, Limit(self._start_seconds))
        return {}

    def _make(self, role: int) -> Engine:
        if self._name == WHOLE:
            rules, roles = self._sheet.rulesheet, self._machine.roles
            memory = None if self._memory is None else SheetMemory(self._memory, rules, roles)
            return next(engines_for(self._machine, role, memory))
        return make_named_engine(self._name, self._machine, role)

    def choose(self, role: int) -> dict[str, Any]:
        """Chooses a move."""
        begin = time.monotonic()
        opinion = consider(self._engines[role], self._machine.legal(self._state, role), Limit(self._seconds))
        score = opinion.score
        return {
            "move": write(opinion.move),
            "goal": None if score is None else score.goal,
            "seconds": time.monotonic() - begin,
        }

    def advance(self, joint_move: list[str]) -> dict[str, Any]:
        """Follows a joint move."""
        moves = tuple(map(read_one, joint_move))
        self._state = self._machine.next(self._state, moves)
        if not self._machine.terminal(self._state):
            for engine in self._engines.values():
                engine.advance(moves, self._state)
        return {}


def main() -> None:
    """Answers each line of the input, which names a method and its arguments; the first one is for the seat itself."""
    # What is printed elsewhere must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    seat = VariantSeat(**json.loads(sys.stdin.readline()))
    print("{}", file=answers)
    for line in sys.stdin:
        method, arguments = json.loads(line)
        print(json.dumps(getattr(seat, method)(**arguments)), file=answers)


if __name__ == "__main__":
    main()
