"""Threads without the lock read nodes that others complete meanwhile, on a processor that reorders reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from agent.search.tree import backup, descent, proofs, regret, store
from agent.search.tree.store import OPEN, PROVEN

FLAGS = {"status", "proven", "joint_node"}
"""Written last, and read first."""

STALE = {"goal": 0.125, "child": 0, "joint_child": 0}
"""Values in which the processor has no part of the news yet."""


class Memory:
    """News that a flag announces are read as they were before, until the next fence."""

    def __init__(self) -> None:
        self.fresh = True
        self.announced: list[str] = []
        """Flags and children that were written after a fence, and before anything else."""
        self.written = False

    def fence(self) -> None:
        self.fresh, self.written = True, False

    def write(self, name: str) -> None:
        if not self.written and name in {"child", *FLAGS}:
            self.announced.append(name)
        self.written = True

    def read(self, name: str, value: Any) -> Any:
        if name in FLAGS:
            self.fresh = False
        return value if self.fresh else STALE.get(name, value)


class Record:
    """A record whose fields are in this memory."""

    def __init__(self, memory: Memory, **fields: Any) -> None:
        self.__dict__.update(memory=memory, fields=fields)

    def __getattr__(self, name: str) -> Any:
        return self.memory.read(name, self.fields[name])

    def __setattr__(self, name: str, value: Any) -> None:
        self.memory.write(name)
        self.fields[name] = value


class Column(list[int]):
    """An array of numbers in this memory."""

    def __init__(self, memory: Memory, name: str, values: Iterable[int]) -> None:
        super().__init__(values)
        self.memory, self.name = memory, name

    def __getitem__(self, index: Any) -> Any:
        return self.memory.read(self.name, super().__getitem__(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        self.memory.write(self.name)
        super().__setitem__(index, value)


class Table(dict[tuple[int, int], Record]):
    """An array of two dimensions."""

    shape = (5, 2)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    """The memory of the kernels, which run as Python."""
    memory = Memory()
    for module in (store, proofs, regret, backup, descent):
        for name, value in list(vars(module).items()):
            if isinstance(value, Dispatcher):
                monkeypatch.setattr(module, name, value.py_func)
        if hasattr(module, "fence"):
            monkeypatch.setattr(module, "fence", memory.fence)
        if hasattr(module, "random32"):
            monkeypatch.setattr(module, "random32", lambda rng: np.uint64(0))
    return memory


def tree_of(memory: Memory, answers: int) -> Any:
    """A node, 0, with two edges of role 0 and as many as that of role 1, and four proven nodes."""
    goals = [0.0, 0.75, 0.5, 0.5, 0.25]
    stats = Table()
    for node, goal in enumerate(goals):
        for role, own in enumerate((goal, 1.0 - goal)):
            stats[node, role] = Record(memory, first_edge=2 * role, n_edges=(2, answers)[role], goal=own, total=0.0)
    edges = [Record(memory, child=1 + i, proven=goals[1 + i], visits=1, total=0.0, pending=0) for i in range(4)]
    return SimpleNamespace(
        counts=[0] * 8,
        node=[Record(memory, status=PROVEN if node else OPEN, visits=4, pending=0) for node in range(5)],
        stats=stats,
        edge=edges,
        amaf=[Record(memory, visits=0.0, total=0.0) for _ in range(4)],
        joint_key=[np.uint64(0)] * 64,
        joint_node=Column(memory, "joint_node", [-1] * 64),
        joint_child=Column(memory, "joint_child", [0] * 64),
    )


@pytest.fixture
def tree(memory: Memory) -> Any:
    """Role 0 chooses; its first edge, to node 1, is proven better than its second, to node 2."""
    return tree_of(memory, 1)


@pytest.fixture
def contested(memory: Memory) -> Iterator[Any]:
    """Both roles choose at once, and each joint move has a proven child."""
    contested = tree_of(memory, 2)
    with np.errstate(over="ignore"):
        for child, edges in enumerate(((0, 2), (0, 3), (1, 2), (1, 3)), 1):
            store.set_child(contested, 0, edges, child)
        yield contested


def prove(tree: Any, random_role: int = -1) -> list[float]:
    """The goals by which the node is proven."""
    goals = [0.0, 0.0]
    assert proofs.prove(tree, 0, [1.0, 1.0], [0.0, 0.0], random_role, [0, 2], goals)
    return goals


def test_what_is_announced_was_written_before(memory: Memory, tree: Any, contested: Any) -> None:
    """Nodes before their number, goals before the status, the child before its proof at an edge or its slot."""
    assert memory.announced == ["joint_node"] * 4
    proofs.set_proven(tree, 1, [0.75, 0.25])
    store.set_child(tree, 0, (0, 2), 1)
    proofs.note_proven_child(tree, 0, (0, 2), 1)
    assert memory.announced[4:] == ["status", "child", "proven"]


def test_goals_of_a_proven_node_are_read_after_its_status(tree: Any, contested: Any) -> None:
    """By a descent that ends there, by regrets, and by proofs above."""
    tree.node[0].status = PROVEN
    tree.stats[0, 0].goal = 0.75
    prove(tree)
    assert tree.stats[0, 0].goal == 0.75
    regret.add_regrets(contested, 0, [0, 2], [0.25, 0.75], 1, -1, None)
    assert [contested.amaf[edge].total for edge in range(4)] == [0.0, 0.25, 0.0, 0.0]
    assert proofs._guaranteed(contested, 0, 0, [0.0, 0.0], 1.0, [0, 2]) == 0.5


def test_children_are_read_after_the_proofs_at_their_edges(tree: Any) -> None:
    """By proofs, by selection, and by the backup of a leaf."""
    parameters = SimpleNamespace(random_role=-1, exploration=[0.0, 0.0], rave_equivalence=0.0, worst_goal=[0.0, 0.0])
    descents = SimpleNamespace(results=[2], sums={(0, 0): 0.5, (0, 1): 1.5})
    backup._take_best_proven(tree, 0, descents, 0, parameters)
    assert descents.sums == {(0, 0): 1.5, (0, 1): 0.5}
    assert prove(tree) == [0.75, 0.25]
    tree.node[0].status = OPEN
    assert prove(tree, random_role=0) == [0.625, 0.375]
    tree.edge[1].proven = -1.0
    assert descent._select(tree, 0, 0, True, parameters, None) == (1, 1)


def test_child_of_a_joint_move_is_read_after_its_slot(contested: Any) -> None:
    """A child that another thread notes meanwhile, in the slot where this thread ends its search, is not taken."""
    assert [store.get_child(contested, 0, edges) for edges in ((0, 2), (0, 3), (1, 2), (1, 3))] == [1, 2, 3, 4]
    taken = contested.joint_node

    class Filling(Column):
        """Empty when first read."""

        def __getitem__(self, index: Any) -> Any:
            contested.joint_node = taken
            return -1

    contested.joint_node = Filling(taken.memory, taken.name, taken)
    assert store.get_child(contested, 0, (0, 2)) == -1
