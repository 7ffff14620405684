"""Number of positions of a suite that an engine gets right: the command `tactics`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby

import numpy as np

from agent.errors import InputError
from agent.lab.tables import print_table
from agent.lab.tournament.engine_player import make_named_engine
from agent.search.engine import Engine, Limit, consider, limited
from agent.sheet import load
from games.gdl.compile import compile_rules
from games.gdl.running.machine import CircuitMachine
from games.machine import UnknownFactError
from protocol.kif import write
from tests.instruments.tactics_suite import (
    Tactic,
    TacticsProver,
    after,
    is_tactical,
    make_tactics,
    wins_after,
)

LOST_VALUE = 5.0
"""Largest goal that an engine may expect of a lost position, 0..100, to have seen the loss."""


@dataclass
class SuiteScore:
    """Right answers of an engine to a game's positions."""

    game: str
    engine: str
    """Names of the searches that played."""
    wins: int = 0
    """Won positions."""
    wins_found: int = 0
    """Those in which it chose a move that is proven to win."""
    losses: int = 0
    """Lost positions."""
    losses_seen: int = 0
    """Those that it knew to be lost."""
    missed: list[dict[str, object]] = field(default_factory=list)
    """The other positions: facts, the chosen move and its value."""


def make_suite(
    sheets: Sequence[str], count: int, seconds: float, seed: int, keep: Callable[[Tactic], None]
) -> dict[str, int]:
    """Makes up to `count` positions of each sheet for `keep`, each proven in `seconds`; returns their numbers.

    Raises `InputError` for a game that is not one of two players who take turns against each other.
    """
    made: dict[str, int] = {}
    for sheet in sheets:
        machine = _machine(sheet)
        if not is_tactical(machine):
            raise InputError(
                f"{sheet}: only games of two players who take turns against one another have such positions"
            )
        made[sheet] = 0
        for tactic in make_tactics(sheet, machine, count, seconds, seed):
            keep(tactic)
            made[sheet] += 1
        print(f"{sheet}: {made[sheet]} positions", flush=True)
    return made


def solve_suite(
    tactics: Sequence[Tactic], engine: str, seconds: float, start: float, proof: float
) -> dict[str, object]:
    """Asks an engine for its move in each position, after `seconds`; prints a table, and returns it as JSON data.

    It prepares for each game and role for `start` seconds. A win counts as found if the prover proves in `proof`
    seconds that the move wins. Raises `InputError` for a position that is none of its sheet's game.
    """
    scores = []
    for sheet, some in groupby(sorted(tactics, key=lambda tactic: tactic.sheet), key=lambda tactic: tactic.sheet):
        score = _solve_game(sheet, list(some), engine, seconds, start, proof)
        print(f"{score.game}: {score.wins_found + score.losses_seen} of {score.wins + score.losses}", flush=True)
        scores.append(score)
    _print(scores, seconds)
    return {"seconds": seconds, "engine": engine, "rows": [asdict(score) for score in scores]}


def _solve_game(sheet: str, tactics: list[Tactic], name: str, seconds: float, start: float, proof: float) -> SuiteScore:
    machine = _machine(sheet)
    prover, engines = TacticsProver(machine), {}
    score = SuiteScore(load(sheet).name, "")
    for tactic in tactics:
        if tactic.role not in engines:
            engines[tactic.role] = _prepared(make_named_engine(name, machine, tactic.role), machine, start)
        _solve(tactic, machine, engines[tactic.role], prover, seconds, proof, score)
    score.engine = ", ".join(sorted({engine.name for engine in engines.values()}))
    return score


def _solve(
    tactic: Tactic,
    machine: CircuitMachine,
    engine: Engine,
    prover: TacticsProver,
    seconds: float,
    proof: float,
    score: SuiteScore,
) -> None:
    try:
        state = tactic.state(machine)
    except UnknownFactError as error:
        raise InputError(f"{tactic.sheet}: a position of the suite is none of this game: {error}") from None
    legal = machine.legal(state, tactic.role)
    if not legal:
        raise InputError(f"{tactic.sheet}: role {tactic.role} has no move in a position of the suite")
    engine.begin(state)
    opinion = consider(engine, legal, Limit(seconds))
    if tactic.won:
        right = wins_after(machine, prover, after(machine, state, tactic.role, opinion.move), tactic.role, proof)
        score.wins += 1
        score.wins_found += right
    else:
        right = opinion.score is not None and opinion.score.goal <= LOST_VALUE
        score.losses += 1
        score.losses_seen += right
    if not right:
        value = None if opinion.score is None else opinion.score.goal
        score.missed.append({**asdict(tactic), "move": write(opinion.move), "value": value})


def _prepared(engine: Engine, machine: CircuitMachine, seconds: float) -> Engine:
    """Returns the engine, prepared for that long."""
    engine.begin(machine.initial())
    if seconds > 0:
        with limited(np.zeros(1, np.uint8), seconds) as stop:
            engine.prepare(stop, lambda opinion: None, Limit(seconds))
    return engine


def _machine(sheet: str) -> CircuitMachine:
    found = load(sheet)
    if found.imperfect:
        raise InputError(f"{found.name}: only games of perfect information have such positions")
    return compile_rules(found.checked)


def _print(scores: Sequence[SuiteScore], seconds: float) -> None:
    found = sum(score.wins_found + score.losses_seen for score in scores)
    total = sum(score.wins + score.losses for score in scores)
    print_table(
        ["game", "engine", ">wins found", ">losses seen"],
        [
            [
                score.game,
                score.engine,
                f"{score.wins_found} of {score.wins}",
                f"{score.losses_seen} of {score.losses}",
            ]
            for score in scores
        ],
        f"{found} of {total} positions in {seconds:g} s each ({100 * found / max(1, total):.0f} %)",
    )
