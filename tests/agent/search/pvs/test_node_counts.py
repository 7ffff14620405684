"""Exact node counts of searches to a depth, with evaluations that are always the same.

Refactoring must not change them. Another order of moves (by evaluation, table, killers or history) or another pruning
rule does: pin the new counts.
"""

from __future__ import annotations

import pytest

from agent.search.evaluation.network import WIN
from agent.search.pvs.analysis import PvsVerdict
from tests.agent.search.pvs.plain import new_searcher
from tests.agent.search.pvs.sheets import MARKS, heap
from tests.agent.search.stopping import StopWhen, never
from tests.circuits import machine_of, own_machine


@pytest.mark.parametrize(
    ("name", "depth", "nodes", "scores"),
    [
        (
            "connect_four",
            9,
            [325, 514, 772, 1747, 2432, 4817, 9808, 12609, 20986],
            [125, 65, 73, -38, -30, -87, -141, -141, -179],
        ),
        ("breakthrough", 6, [131, 696, 1659, 3146, 5736, 10677], [-913, -913, -913, -913, -913, -797]),
        (
            "tic_tac_toe",
            9,
            [548, 997, 1520, 1765, 2784, 3861, 5030, 5696, 6065],
            [330, 330, 330, 330, 260, 285, 78, 0, 0],
        ),
        ("heap", 14, [9, 36, 144, 186], [73, 31, -18, WIN - 8]),
        ("marks", 3, [144, 20593, 48030], [0, 0, 199]),
    ],
)
def test_nodes_of_each_depth(name: str, depth: int, nodes: list[int], scores: list[int]) -> None:
    """Nodes after each iteration, and its score."""
    own = {"heap": heap(13), "marks": MARKS}
    machine = machine_of(own[name]) if name in own else own_machine(name)
    searcher = new_searcher(machine, 1, quiescence=True, units=False)
    found: dict[int, tuple[int, int]] = {}

    def publish(verdict: PvsVerdict) -> None:
        found[verdict.depth] = searcher.nodes, verdict.score

    with StopWhen(never) as stop:
        searcher.analyse(machine.pack(machine.initial()), stop.flag, publish, depth)
    assert list(zip(*found.values(), strict=True)) == [tuple(nodes), tuple(scores)]
