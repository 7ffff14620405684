"""What each step on the way from rules to a circuit, or to the interpreter's code, brings: sheets without it.

`python -m tests.instruments.ablation FOLDER... > FILE.csv` compiles each rulesheet of the folders, and of the package,
whole and with one step left out, each in a process of its own; `... ablation summary FILE.csv` compares. CPU seconds
and speeds are of this machine.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np

from games import rulesheets
from games.child_process import Bounds, ChildProcess
from games.gdl import compile as compiling
from games.gdl.circuit import circuit as circuits
from games.gdl.circuit.ternary import OPEN
from games.gdl.grounding import ground, rewrite
from games.gdl.interpreter import codegen, extents, functions, inlining, linking, ordering
from games.gdl.rules.check import CheckedRules
from games.gdl.running.machine import CircuitMachine, compiled_game
from games.machine import GameError
from tests.economy.measure import interpreted_statements
from tests.matches import rules_of

CPU_SECONDS, MEMORY = 40.0, 8 << 30
"""Bounds of a case."""
MATCHES, POSITIONS = 512, 100_000
"""Random matches whose speed is measured, and positions after which no more begin."""
CHANGE = 0.02
"""Least change of a figure that counts."""

Patches: TypeAlias = list[tuple[Any, str, Any]]
Row: TypeAlias = dict[str, Any]

GROUNDING: dict[str, Patches] = {
    "whole": [],
    "demand": [(compiling, "_plan", lambda checked, limits: [compiling._Attempt("split", 9.0)])],
    "splitting": [(ground, "split", lambda rules, estimates: list(rules))],
    "preparing splits": [(rewrite, "_MOST_PREPARING", 0)],
    "moves apart": [(ground, "separate_moves", lambda rules, estimates: list(rules))],
    "unfolding": [(ground, "unfold_large", lambda rules, estimates: None)],
    "constant fluents": [(circuits, "reachable", lambda pool, *_: np.full(len(pool.kind), OPEN))],
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
    "static relations": [(linking, "MAX_STATIC_ROWS", -1)],
    "semi-naive": [(module, "is_iterable", lambda *arguments: False) for module in (linking, extents)],
}
"""Steps of the interpreter's generator of code, likewise."""


def grounded(pipe: Connection | None, checked: CheckedRules) -> Row:
    """Returns the figures of the circuit."""
    begin = time.process_time()
    variant = compiling._plan(checked, compiling.Limits())[0].variant
    program = ground.ground(checked.rules, checked.roles, variant=variant)
    found: Row = {"variant": variant, "literals": len(program.body)}
    found["ground_s"] = round(time.process_time() - begin, 3)
    game = compiled_game(circuits.build_circuit(program))
    found["set_up_s"] = round(time.process_time() - begin, 3)
    found |= {"slots": game.programs.n_slots, "inputs": game.edges}
    machine = CircuitMachine(game)
    machine.random_matches(64, 1, max_plies=4)
    begin = time.process_time()
    matches = machine.random_matches(MATCHES, 2, max_plies=200, most_positions=POSITIONS)
    found["plies_a_second"] = round(len(matches.states) / (time.process_time() - begin))
    return found


def interpreted(pipe: Connection | None, checked: CheckedRules) -> Row:
    """Returns the figures of the interpreter: statements that its generated code runs in the first plies."""
    return {"statements": interpreted_statements(checked)}


def cases(name: str, text: str) -> Iterator[Row]:
    """Yields a row for each step of a rulesheet."""
    checked = rules_of(text)
    ways: tuple[tuple[str, Callable[..., Any], dict[str, Patches]], ...] = (
        ("circuit", grounded, GROUNDING),
        ("interpreter", interpreted, INTERPRETING),
    )
    for way, measure, steps in ways:
        for step, patches in steps.items():
            row: Row = {"sheet": name, "way": way, "without": step, "outcome": "done"}
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


def summary(rows: Iterable[Row]) -> Iterator[Row]:
    """Yields a row for each step: sheets lost without it, and ratios to the whole way, a sheet's first row."""
    whole: Row = {}
    steps: dict[tuple[str, str], list[tuple[Row, Row]]] = {}
    for row in rows:
        if row["without"] == "whole":
            whole = row
        elif whole["outcome"] == "done":
            steps.setdefault((str(row["way"]), str(row["without"])), []).append((row, whole))
    for (way, step), pairs in steps.items():
        done = [pair for pair in pairs if pair[0]["outcome"] == "done"]
        found: Row = {"way": way, "without": step, "sheets": len(pairs), "lost": len(pairs) - len(done)}
        for figure in ("literals", "inputs", "statements", "plies_a_second"):
            # Of circuits that are alike, the speed is noise.
            timed = figure == "plies_a_second"
            ratios = sorted(
                (float(a[figure]) / float(b[figure]), a["sheet"])
                for a, b in done
                if b.get(figure) and not (timed and a["inputs"] == b["inputs"])
            )
            if ratios:
                found[f"{figure}_changed"] = sum(abs(ratio - 1) > CHANGE for ratio, _ in ratios)
                found[f"{figure}_median"] = round(ratios[len(ratios) // 2][0], 3)
                for name, (ratio, sheet) in (("least", ratios[0]), ("most", ratios[-1])):
                    found |= {f"{figure}_{name}": round(ratio, 2), f"{figure}_{name}_sheet": sheet}
        yield found


def write(rows: Iterable[Row]) -> None:
    """Prints rows as CSV, under the columns of all."""
    rows = list(rows)
    columns = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(sys.stdout, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def main(arguments: list[str]) -> None:
    """Prints the cases of all rulesheets in the folders given, or the summary of cases in a file."""
    if arguments[:1] == ["summary"]:
        with open(arguments[1], encoding="utf-8") as file:
            write(summary(csv.DictReader(file)))
        return
    sheets = [(f"own {name}", rulesheets.text(name)) for name in rulesheets.names()]
    # Compiles the kernels, for all children.
    grounded(None, rules_of(sheets[0][1]))
    for folder in arguments:
        sheets += [(path.stem, path.read_text(encoding="utf-8-sig")) for path in sorted(Path(folder).glob("*.kif"))]
    write(row for name, text in sheets for row in cases(name, text))


if __name__ == "__main__":
    main(sys.argv[1:])
