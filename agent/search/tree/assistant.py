"""Tree search on a helper: one core searches the root that the engine asks about."""

from __future__ import annotations

from dataclasses import dataclass

from agent.search.engine import UNLIMITED, StopFlag
from agent.search.team import Assistant, Setting
from agent.search.tree.engine import TreeSearch
from agent.search.tree.root_parallelism import Judgement, RootReport
from games.gdl.running.machine import CircuitMachine
from games.machine import State

HELPER_MEMORY = 1 << 29
"""Bytes of a helper's tree: a cluster node may have many cores and little memory."""


@dataclass(frozen=True)
class TreeSetting(Setting):
    """Has helpers search trees."""

    memory_bytes: int = HELPER_MEMORY

    def assistant(self, machine: CircuitMachine, role: int, rank: int) -> Assistant:
        return TreeAssistant(self, machine, role)


class TreeAssistant(Assistant):
    """Searches a tree on one core."""

    def __init__(self, setting: TreeSetting, machine: CircuitMachine, role: int) -> None:
        self._single = len(machine.roles) == 1
        # It uses the engine's evaluation and learns none itself.
        self._search = TreeSearch(
            machine,
            role,
            threads=1,
            memory_bytes=setting.memory_bytes,
            judging=False,
        )
        self._begun = False

    def begin(self, state: State) -> None:
        if self._begun and not self._single:
            # The joint move does not matter: the tree looks the state up.
            self._search.advance((), state)
        else:
            self._search.begin(state)
            self._begun = True

    def think(self, stop: StopFlag) -> None:
        self._search.think(stop, lambda opinion: None, UNLIMITED)

    def answer(self) -> RootReport | None:
        return self._search.report_root()

    def take(self, note: object) -> None:
        if isinstance(note, Judgement):
            self._search.judge_by(note)
