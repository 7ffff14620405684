"""Circuits of rulesheets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from games import rulesheets
from games.gdl.circuit.circuit import Circuit, build_circuit
from games.gdl.grounding.ground import VARIANTS, ground
from games.gdl.lean.game import lean_game
from games.gdl.running.machine import CircuitMachine, compiled_game
from tests.matches import rules_of

Compile = Callable[[str], CircuitMachine]


def circuit_of(text: str, *, variant: str = VARIANTS[0], idle: bool = True) -> Circuit:
    """Builds the circuit of a rulesheet's text, grounded in one of `VARIANTS`."""
    checked = rules_of(text)
    return build_circuit(ground(checked.rules, checked.roles, variant=variant), idle=idle)


@cache
def machine_of(text: str, variant: str = VARIANTS[0]) -> CircuitMachine:
    """Builds the machine of a rulesheet's text, grounded in one of `VARIANTS`, once in a process."""
    return CircuitMachine(compiled_game(circuit_of(text, variant=variant)))


@cache
def machine_with_lean(text: str) -> CircuitMachine:
    """The same, with its lean machine if there is one, as the compiler delivers it."""
    checked = rules_of(text)
    circuit = build_circuit(ground(checked.rules, checked.roles))
    game = compiled_game(circuit)
    return CircuitMachine(replace(game, lean=lean_game(circuit, game)))


@cache
def own_machine(name: str) -> CircuitMachine:
    """The machine of one of the package's rulesheets."""
    return machine_of(rulesheets.text(name))
