"""What rulesheets cost, counted: `python -m tests.economy.measure own|corpus > tests/economy/GROUP.csv` pins it anew.

Nothing is timed, so a figure that moves has a reason in the code. Its author says whether the new one is better: a
commit that makes one worse says what that buys. Python's hashes play a part: pin with PYTHONHASHSEED=0.
"""

from __future__ import annotations

import ast
import builtins
import csv
import itertools
import sys
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from agent.search.engine import Limit
from agent.search.tree.engine import TreeSearch
from agent.search.tree.store import N_NODES
from games import rulesheets
from games.gdl.circuit.circuit import build_circuit
from games.gdl.compile import Limits, _plan
from games.gdl.grounding.ground import ground
from games.gdl.interpreter import linking
from games.gdl.interpreter.machine import Interpreter
from games.gdl.lean.game import lean_game
from games.gdl.rules.check import CheckedRules
from games.gdl.running.machine import CircuitMachine, compiled_game
from games.machine import NO_MOVE
from tests.agent.search.pvs.plain import new_searcher
from tests.agent.search.stopping import StopWhen, never
from tests.conftest import SHARED
from tests.matches import rules_of

# fmt: off
CORPUS = (
    "2pffa", "3pConnectFour", "amazons_8x8", "atariGoVariant_7x7", "battle", "biddingTicTacToe", "blocksWorld",
    "breakthroughSmall", "checkersSmall", "chomp", "connect5", "connectFourSuicide_7x7", "crissrace", "cubicup",
    "dualConnect4", "ghostMaze2p", "hanoi7_bugfix", "hex", "kalaha_2009", "knightThrough", "lightsOn",
    "mineClearingSmall", "nineBoardTicTacToe", "othelloHoles", "pentago", "quarto", "ruleDepthLinear",
    "snake_2008", "stateSpaceMedium", "ttcc4_2player",
)
# fmt: on
"""Third-party rulesheets of the table, of many kinds; small ones, and those that a step of the way was made for."""

PLIES, DEPTH, PLAYOUTS = 12, 2, 300
"""Plies that the interpreter plays, plies that alpha-beta searches, and playouts of tree search."""


def measure(name: str, text: str) -> dict[str, str | int]:
    """Returns the figures of a rulesheet by their names."""
    checked = rules_of(text)
    plan = [attempt.variant for attempt in _plan(checked, Limits())]
    program = ground(checked.rules, checked.roles, variant=plan[0])
    circuit = build_circuit(program)
    game = compiled_game(circuit)
    lean = lean_game(circuit, game)
    machine = CircuitMachine(lean or game)
    return {
        "sheet": name,
        "plan": " ".join(plan),
        "literals": len(program.body),
        "fluents": len(game.fluents),
        "inputs": game.edges,
        "slots": game.programs.n_slots + game.programs.n_goal_slots,
        "runs": sum(len(part.runs) for part in (game.programs.legal, game.programs.next, game.programs.goal)),
        "lean": 0 if lean is None else lean.edges,
        "statements": interpreted_statements(checked),
        "nodes": searched_nodes(machine),
        "tree": tree_nodes(machine),
    }


def interpreted_statements(checked: CheckedRules) -> int:
    """Returns the statements that the interpreter's generated code runs in the first plies of a random match."""
    counter = itertools.count()
    with_counting(counter.__next__)
    machine, rng = Interpreter(checked), Random(1)
    state = machine.initial()
    for _ in range(PLIES):
        if machine.terminal(state):
            break
        legal = [machine.legal(state, role) for role in range(len(machine.roles))]
        state = machine.next(state, [rng.choice(moves or [NO_MOVE]) for moves in legal])
    for role in range(len(machine.roles)):
        machine.goal(state, role)
    return next(counter)


def with_counting(count: Callable[[], int]) -> None:
    """From now on, each statement of generated code first calls `count`."""
    builtins.statement = count  # type: ignore[attr-defined]
    call = ast.parse("statement()").body

    class Counting(ast.NodeTransformer):
        def generic_visit(self, node: ast.AST) -> ast.AST:
            super().generic_visit(node)
            for block in ("body", "orelse"):
                statements = getattr(node, block, None)
                if isinstance(statements, list) and statements and not isinstance(node, ast.Module):
                    setattr(node, block, [part for statement in statements for part in (*call, statement)])
            return node

    def compiled(source: str, name: str, mode: str) -> Any:
        return builtins.compile(ast.fix_missing_locations(Counting().visit(ast.parse(source))), name, mode)

    linking.compile = compiled  # type: ignore[attr-defined]
    # However slow the machine is, the same relations are computed beforehand.
    linking.STATIC_SECONDS = float("inf")


def searched_nodes(machine: CircuitMachine) -> int:
    """Returns the nodes of alpha-beta with a random evaluation; 0 where it does not play the game."""
    if len(machine.roles) != 2:
        return 0
    searcher = new_searcher(machine, 1, quiescence=True, units=False)
    with StopWhen(never) as stop:
        searcher.analyse(machine.pack(machine.initial()), stop.flag, lambda verdict: None, DEPTH)
    return searcher.nodes


def tree_nodes(machine: CircuitMachine) -> int:
    """Returns the nodes of tree search after some playouts."""
    search = TreeSearch(machine, 0, threads=1, memory_bytes=1 << 26, timeless=True, seed=1)
    search.begin(machine.initial())
    with StopWhen(never) as stop:
        search.think(stop.flag, lambda opinion: None, Limit(nodes=PLAYOUTS))
    return int(search._tree.counts[N_NODES])


def sheets(group: str) -> Iterator[tuple[str, str]]:
    """Yields names and texts of the package's rulesheets (`own`), or of third-party ones (`corpus`)."""
    if group == "own":
        yield from ((name, rulesheets.text(name)) for name in rulesheets.names())
    else:
        yield from ((name, (SHARED / "corpus" / f"{name}.kif").read_text(encoding="utf-8-sig")) for name in CORPUS)


if __name__ == "__main__":
    rows = [measure(name, text) for name, text in sheets(sys.argv[1])]
    writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
