"""The native families of games: the one list of them.

A family called NAME consists of
- `games.native.NAME.recognise` with `recognise(machine)` and `bind(machine)`, which raises `NotRecognised` instead of
  returning None, and `games.native.NAME.verify` with `count_agreeing(machine, binding, positions, seed)`: the rules,
  and how a rulesheet is mapped to them;
- `agent.search.NAME.engine` with `make_engine(machine, role)` and `warm_kernels()`: who plays it;
- `agent.search.NAME.training.command` with `add_options(parser)` and `train(options)`: who trains it.

Modules are imported when they are first needed: each loads kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from games.native.refusal import NotRecognised

if TYPE_CHECKING:
    from games.gdl.running.machine import CircuitMachine


class Binding(Protocol):
    """How a rulesheet's facts, moves and roles map to a family's board."""

    @property
    def variant(self) -> object:
        """Which game of the family it is."""


@dataclass(frozen=True)
class Family:
    """A family of games with native rules and an engine of its own."""

    name: str
    """Of its modules."""
    title: str
    """For people."""

    def recognise(self, machine: CircuitMachine) -> Binding | None:
        """How a compiled rulesheet maps to this family; None where it is no game of it."""
        binding: Binding | None = import_module(f"games.native.{self.name}.recognise").recognise(machine)
        return binding

    def refusal(self, machine: CircuitMachine) -> str | None:
        """Why a compiled rulesheet is no game of this family, for a person; None where it is one."""
        try:
            import_module(f"games.native.{self.name}.recognise").bind(machine)
        except NotRecognised as error:
            return str(error)
        return None

    def count_agreeing(self, machine: CircuitMachine, binding: Binding, positions: int, seed: int) -> int:
        """Compares native rules and circuit on random matches until `positions` were compared or one differs.

        Returns how many agree; fewer than `positions` means that the next one did not.
        """
        verify = import_module(f"games.native.{self.name}.verify")
        return int(verify.count_agreeing(machine, binding, positions, seed=seed))


FAMILIES = (Family("reversi", "Reversi"), Family("blokbox", "Blokbox"))
"""In the order in which they are tried."""
