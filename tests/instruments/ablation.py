"""What each step on the way from rules to a circuit, or to the interpreter's code, brings: sheets without it.

`python -m tests.instruments.ablation FOLDER... > FILE.csv` compiles each rulesheet of the folders, and of the package,
whole and with one step left out, each in a process of its own. CPU seconds and speeds are of this machine.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np

from games import rulesheets
from games.child_process import Bounds, ChildProcess
from games.gdl import compile as compiling
from games.gdl.circuit import circuit as circuits
from games.gdl.grounding import ground, rewrite
from games.gdl.interpreter import codegen, extents, functions, inlining, linking, ordering
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules
from games.gdl.running.machine import CircuitMachine, compiled_game
from games.machine import NO_MOVE, GameError
from tests.matches import rules_of

CPU_SECONDS, MEMORY = 40.0, 8 << 30
"""Bounds of a case."""
MATCHES, FIRST_PLIES, PLIES, TIMED = 512, 4, 40, 0.6
"""Random matches of the circuit; plies of the interpreter's first match, which compiles, and most of its others; CPU
seconds of both."""

Patches = list[tuple[Any, str, Any]]

GROUNDING: dict[str, Patches] = {
    "whole": [],
    "demand": [(compiling, "_plan", lambda checked, limits: [compiling._Attempt("split", 9.0)])],
    "splitting": [(ground, "split", lambda rules, estimates: list(rules))],
    "preparing splits": [(rewrite, "_MOST_PREPARING", 0)],
    "moves apart": [(ground, "separate_moves", lambda rules, estimates: list(rules))],
    "unfolding": [(ground, "unfold_large", lambda rules, estimates: None)],
    "constant fluents": [(circuits, "constant_fluents", lambda pool, outputs, initial: np.zeros(len(initial), bool))],
    "factors": [(circuits, "factor", lambda pool, outputs: pool)],
}
"""Steps before the kernels, each with the patches that leave it out."""

INTERPRETING: dict[str, Patches] = {
    "whole": [],
    "whole relations": [(linking, "MIN_CALLS", 1 << 60)],
    "merged blocks": [(functions, "merged", lambda blocks: [line for block in blocks for line in block])],
    "second look": [(ordering, "NEARLY", 1.0)],
    "inlining": [(module, "definition", lambda *arguments: None) for module in (codegen, inlining)],
    "learning of states": [(linking.Linked, "learn_state", lambda self: None)],
    "static relations": [(linking, "STATIC_SECONDS", -1.0)],
    "semi-naive": [(module, "is_iterable", lambda *arguments: False) for module in (linking, extents)],
}
"""Steps of the interpreter's generator of code, likewise."""


def grounded(pipe: Connection | None, checked: CheckedRules) -> dict[str, float | str]:
    """Returns the figures of the circuit."""
    begin = time.process_time()
    variant = compiling._plan(checked, compiling.Limits())[0].variant
    program = ground.ground(checked.rules, checked.roles, variant=variant)
    found: dict[str, float | str] = {"variant": variant, "literals": len(program.body)}
    found["ground_s"] = round(time.process_time() - begin, 3)
    game = compiled_game(circuits.build_circuit(program))
    found["set_up_s"] = round(time.process_time() - begin, 3)
    found |= {"slots": game.programs.n_slots, "inputs": game.edges}
    machine = CircuitMachine(game)
    machine.random_matches(64, 1, max_plies=4)
    begin = time.process_time()
    matches = machine.random_matches(MATCHES, 2, max_plies=200, most_positions=100_000)
    found["plies_a_second"] = round(len(matches.states) / (time.process_time() - begin))
    return found


def interpreted(pipe: Connection | None, checked: CheckedRules) -> dict[str, float | str]:
    """Returns the figures of the interpreter: CPU seconds until its first plies are played, and plies a second then."""
    begin = time.process_time()
    machine = Interpreter(checked)
    played(machine, 0, FIRST_PLIES)
    found: dict[str, float | str] = {"set_up_s": round(time.process_time() - begin, 3)}
    begin, plies = time.process_time(), 0
    while (spent := time.process_time() - begin) < TIMED:
        plies += played(machine, plies, PLIES)
    return found | {"plies_a_second": round(plies / spent, 1)}


def played(machine: Interpreter, seed: int, most: int) -> int:
    """Plays a random match of at most so many plies; returns their number."""
    rng, state = Random(seed), machine.initial()
    for ply in range(most):
        if machine.terminal(state):
            return ply
        legal = [machine.legal(state, role) for role in range(len(machine.roles))]
        state = machine.next(state, [rng.choice(moves or [NO_MOVE]) for moves in legal])
    return most


def cases(name: str, text: str) -> Iterator[dict[str, float | str]]:
    """Yields a row for each step of a rulesheet."""
    checked = rules_of(text)
    ways: tuple[tuple[str, Callable[..., Any], dict[str, Patches]], ...] = (
        ("circuit", grounded, GROUNDING),
        ("interpreter", interpreted, INTERPRETING),
    )
    for way, measure, steps in ways:
        for step, patches in steps.items():
            row: dict[str, float | str] = {"sheet": name, "way": way, "without": step, "outcome": "done"}
            # The child is forked with the patches.
            with ExitStack() as stack:
                for module, attribute, value in patches:
                    stack.enter_context(patch.object(module, attribute, value))
                child = ChildProcess(measure, checked, bounds=Bounds(CPU_SECONDS, MEMORY))
            try:
                row |= child.receive()
            except GameError as error:
                row["outcome"] = f"{type(error).__name__}: {error}"
            except Exception as error:
                row["outcome"] = f"error: {error!r}"[:200]
            child.end()
            yield row


def main(folders: list[str]) -> None:
    """Prints the table."""
    sheets = [(name, rulesheets.text(name)) for name in rulesheets.names()]
    # Compiles the kernels, for all children.
    grounded(None, rules_of(sheets[0][1]))
    for folder in folders:
        sheets += [(path.stem, path.read_text(encoding="utf-8-sig")) for path in sorted(Path(folder).glob("*.kif"))]
    columns = "sheet way without outcome variant literals ground_s set_up_s slots inputs plies_a_second"
    writer = csv.DictWriter(sys.stdout, columns.split(), lineterminator="\n")
    writer.writeheader()
    for sheet in sheets:
        writer.writerows(cases(*sheet))
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
