"""Games of turns made from games of simultaneous choices."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from games import rulesheets
from games.gdl.compile import warm_kernels
from games.gdl.running.machine import CircuitMachine
from games.gdl.running.rebuilding import WAIT
from games.gdl.running.serialise import serialise, widen
from tests.circuits import machine_of
from tests.matches import goals, random_match


def follow(machine: CircuitMachine, first: int, matches: int) -> None:
    """Plays random matches of a game and of its serialised form side by side."""
    serial = serialise(machine, first)
    assert serial is not None
    second = 1 - first
    assert widen(serial, machine.initial()) == serial.initial()
    chosen = random.Random(first)
    for _ in range(matches):
        for state, joint, following in random_match(machine, chosen):
            before = widen(serial, state)
            assert not serial.terminal(before)
            assert serial.legal(before, first) == machine.legal(state, first)
            assert serial.legal(before, second) == [WAIT]
            between = serial.next(before, [move if role == first else WAIT for role, move in enumerate(joint)])
            assert not serial.terminal(between)
            assert serial.legal(between, first) == [WAIT]
            assert serial.legal(between, second) == machine.legal(state, second)
            after = serial.next(between, [move if role == second else WAIT for role, move in enumerate(joint)])
            assert after == widen(serial, following)
        assert serial.terminal(after)
        assert goals(serial, after) == goals(machine, following)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("name", ["rock_paper_scissors", "tic_tac_toe", "breakthrough"])
def test_two_half_steps_are_one(name: str, first: int) -> None:
    """Simultaneous or not: states, moves, ends and goals are those of the game."""
    follow(machine_of(rulesheets.text(name)), first, 4)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("name", ["connectFourSimultaneous", "bomberman2p", "roshambo2"])
def test_real_sheets(corpus: Path, name: str, first: int) -> None:
    """Needs the corpus. Larger games, in which nearly all choices are simultaneous."""
    follow(machine_of((corpus / f"{name}.kif").read_text()), first, 2)


def test_cycles_are_left_alone() -> None:
    """Recursive rules have cycles in the circuit, which cannot be read back as gates."""
    assert serialise(warm_kernels(), 0) is None
