"""The native families of games: the one list of them.

An entry of `FAMILIES` is all that a family needs to be known. It names two packages, whose modules are imported when
they are first needed, as each loads kernels:
- `rules`: `recognise` with `RECOGNITION`, a `games.native.recognition.Recognition`;
- `engine`: its `KERNELS` (an `agent.search.kernel_groups.KernelGroup`), and `engine` with `make_engine(machine, role)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from games.gdl.running.machine import CircuitMachine
    from games.native.recognition import Recognition


class Binding(Protocol):
    """The map from a rulesheet's facts, moves and roles to a family's board."""

    @property
    def variant(self) -> object:
        """Which game of the family it is."""


@dataclass(frozen=True)
class Family:
    """A family of games with native rules and an engine of its own."""

    name: str
    """Also the name of its group of kernels."""
    title: str
    """Name for people."""
    rules: str
    """Package of its rules and their recognition."""
    engine: str
    """Package of its engine."""

    @property
    def recognition(self) -> Recognition[Any]:
        """The recognition of its games."""
        recognition: Recognition[Any] = import_module(f"{self.rules}.recognise").RECOGNITION
        return recognition

    def recognise(self, machine: CircuitMachine) -> Binding | None:
        """The binding of a compiled rulesheet to this family; None for any other game."""
        binding: Binding | None = self.recognition.recognise(machine)
        return binding

    def refusal(self, machine: CircuitMachine) -> str | None:
        """Why a compiled rulesheet is no game of this family, for a person; None where it is one."""
        from games.native.recognition import NotRecognised

        try:
            self.recognition.bind(machine)
        except NotRecognised as error:
            return str(error)
        return None

    def count_agreeing(self, machine: CircuitMachine, binding: Binding, positions: int, seed: int) -> int:
        """See `Recognition.count_agreeing`."""
        return self.recognition.count_agreeing(machine, binding, positions, seed=seed)


FAMILIES = (
    Family("reversi", "Reversi", "games.native.reversi", "agent.search.reversi"),
    Family("blokbox", "Blokbox", "games.native.blokbox", "agent.search.blokbox"),
)
"""All families, in the order in which they are tried."""
