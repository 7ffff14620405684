"""Replay of a trace, matches played by another reasoner, on one of our machines."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TypedDict

from agent.lab.conform.conformity import SheetReport
from games.machine import GameError, State, StateMachine, Term
from protocol import kif
from protocol.constants import bare

MEASURABLE_SECONDS = 0.05
"""CPU time below which speed is measured by wall time: the CPU clock may be as coarse as 10 ms."""


class TraceStep(TypedDict):
    """A state of a traced match. Facts and moves are KIF text."""

    state: list[str]
    legal: list[list[str]] | None
    """By role; None where the reasoner gave none, as in terminal states."""
    joint: list[str] | None
    """Moves by role; None in the last state."""
    terminal: bool


class TracedMatch(TypedDict):
    """A match of a trace."""

    steps: list[TraceStep]
    goals: list[int | None] | None
    """By role; None for a role without a value, or with several. None altogether where a role has no value."""
    capped: bool
    """Whether it stops before its end."""


class Trace(TypedDict):
    """Content of `traces/<game>.json.gz`."""

    game: str
    roles: list[str]
    games: list[TracedMatch]


class Replay:
    """A trace played on a machine."""

    def __init__(self, machine: StateMachine, trace: Trace, report: SheetReport) -> None:
        self._machine = machine
        self._trace = trace
        self._report = report
        self._term = cache(lambda text: bare(kif.read_one(text)))

    def run(self, seconds: float) -> None:
        """Compares the states of the trace, as far as the CPU seconds allow; fills in the report."""
        roles = tuple(map(self._term, self._trace["roles"]))
        if self._machine.roles != roles:
            self._report.differ("the roles", f"{_list(self._machine.roles)}, should be {_list(roles)}")
            return
        games = self._trace["games"]
        places = [(number, step) for number, game in enumerate(games) for step in range(len(game["steps"]))]
        self._report.states_in_trace = len(places)
        for number, game in enumerate(games):
            self._same_facts(f"match {number}, initial state", self._machine.initial(), game["steps"][0]["state"])
        begin, begin_wall = time.process_time(), time.perf_counter()
        for number, step in spread(places):
            self._check(number, step)
            self._report.states += 1
            if time.process_time() - begin > seconds:
                break
        spent = time.process_time() - begin
        if spent < MEASURABLE_SECONDS:
            spent = time.perf_counter() - begin_wall
        self._report.states_per_s = self._report.states / spent

    def _check(self, number: int, step: int) -> None:
        machine = self._machine
        game = self._trace["games"][number]
        here = game["steps"][step]
        place = f"match {number}, step {step}"
        try:
            state = machine.state([self._term(fact) for fact in here["state"]])
            terminal = machine.terminal(state)
            if terminal != here["terminal"]:
                self._report.differ(place, f"terminal is {terminal}")
            if here["legal"] is not None:
                for role, moves in enumerate(here["legal"]):
                    self._same(
                        f"{place}, legal moves of {kif.write(machine.roles[role])}",
                        machine.legal(state, role),
                        map(self._term, moves),
                    )
            if step + 1 < len(game["steps"]):
                assert here["joint"] is not None
                successor = machine.next(state, [self._term(move) for move in here["joint"]])
                self._same_facts(f"{place}, next state", successor, game["steps"][step + 1]["state"])
            elif here["terminal"]:
                self._same_goals(place, state, game["goals"])
        except GameError as error:
            self._report.differ(place, f"{type(error).__name__}: {error}")

    def _same_goals(self, place: str, state: State, expected: list[int | None] | None) -> None:
        values = [self._machine.goal_values(state, role) for role in range(len(self._machine.roles))]
        # The other reasoner has no goal where we take the greatest of several values.
        goals = [one[0] if len(one) == 1 else None for one in values]
        # A reasoner that gives up at the first role without a goal leaves no list.
        if None not in goals if expected is None else goals != expected:
            self._report.differ(place, f"goals are {goals}, should be {expected}")

    def _same_facts(self, place: str, state: State, facts: Iterable[str]) -> None:
        self._same(place, self._machine.facts(state), map(self._term, facts))

    def _same(self, place: str, found: Iterable[Term], expected: Iterable[Term]) -> None:
        ours, theirs = set(found), set(expected)
        if ours != theirs:
            self._report.differ(place, f"too many: {_list(ours - theirs)}; missing: {_list(theirs - ours)}")


def spread(places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yields all places, any first part of them evenly spread (van der Corput sequence to base 2)."""
    bits = max(1, (len(places) - 1).bit_length())
    for i in range(1 << bits):
        j = int(format(i, f"0{bits}b")[::-1], 2)
        if j < len(places):
            yield places[j]


def _list(terms: Iterable[Term]) -> str:
    texts = sorted(map(kif.write, terms))
    return (" ".join(texts[:4]) + (f" and {len(texts) - 4} more" if len(texts) > 4 else "")) or "none"
