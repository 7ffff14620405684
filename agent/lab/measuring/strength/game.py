"""One game of a measurement of strength: two engines at equal time, from a random opening."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from agent.errors import CommandError, InputError
from agent.lab.tournament.engine_player import EnginePlayer, make_named_engine
from agent.lab.tournament.matches import play_locally
from agent.lab.tournament.openings import Opening, after, draw_opening
from agent.refereeing.referee import Participant
from agent.search.engine import Limit, consider
from games.gdl.running.machine import CircuitMachine
from games.machine import Term, points
from protocol.kif import write

JUDGING_SECONDS = 0.25
"""How long the first contender thinks about an opening to say whether it is balanced. Set by hand; not tuned."""

BALANCE = (40.0, 60.0)
"""The values of a balanced opening for the first role. Set by hand; not tuned."""


@dataclass(frozen=True)
class Series:
    """What all games of a measurement have in common; two series are comparable only if these are equal."""

    file: str
    """A rulesheet file, or the name of an own rulesheet, of a game of two roles."""
    engines: tuple[str, str]
    """Keys of `ENGINES`: the contender that is measured, and the one it is measured against."""
    seconds: float
    """Per move."""
    opening_plies: int
    """Plies played at random before the engines take over."""
    cores: int = 1
    """That the engine on turn has to itself."""
    seed: int = 0
    """Of the openings."""
    balanced: bool = False
    """Whether openings are left out that the first contender takes to be half decided already (see `BALANCE`)."""
    start_seconds: float = 0.0
    """What an engine has for preparing before its first move."""


@dataclass(frozen=True)
class GameRecord:
    """One game, as plain data. Games 2n and 2n + 1 are a pair: the same opening, the seats exchanged.

    Plies count from 1 at the start of the match, so the opening's are among them. `[2]` is by contender (the series'
    first engine, then its second), not by role.
    """

    number: int
    seats: list[int]
    """[roles]: the contender that plays each role."""
    opening: list[list[str]]
    """[plies][roles]: random moves, as the rulesheet spells them."""
    moves: list[list[str]]
    """[plies][roles]: the engines' moves."""
    goals: list[int]
    """[2]"""
    chose_first: int | None
    """The contender that was the first to have a choice after the opening; None if both were at once or never."""
    proven_from: list[int | None]
    """[2]: the first ply at which the contender held its move to be proven and went on to do so at all its turns;
    None if it did not at its last. Turns without a choice do not count."""
    proofs_missed: list[int]
    """[2]: turns at which a contender held a higher goal to be proven than it got in the end."""
    slowest: list[float]
    """[2]: seconds that the contender's longest turn took."""
    thought: list[float]
    """[2]: seconds that all turns of the contender took."""
    cpu: list[float]
    """[2]: CPU seconds it got in them: less than cores x seconds where other processes ran."""

    @property
    def length(self) -> int:
        """Plies from the start of the match to its end."""
        return len(self.opening) + len(self.moves)

    @property
    def result(self) -> int:
        """The first contender's: +1, 0 or -1."""
        return (self.goals[0] > self.goals[1]) - (self.goals[0] < self.goals[1])


def play_game(machine: CircuitMachine, series: Series, number: int, opening: Opening | None = None) -> GameRecord:
    """Play one game of a series, from the opening of its pair; where that is known it need not be drawn again.

    Each contender prepares in the position after the opening, and thinks on its own turns only (see `EnginePlayer`).
    Raises `InputError` where the game does not suit the series: other than two roles, an engine that does not play it,
    openings that end it; and `CommandError` for an engine that fails.
    """
    if opening is None:
        opening = pair_opening(machine, series, number // 2)
    seats = [0, 1] if number % 2 == 0 else [1, 0]
    turn = asyncio.Lock()
    players = [
        EnginePlayer(make_named_engine(name, machine, role), series.seconds, series.start_seconds, turn)
        for role, name in enumerate(series.engines[seat] for seat in seats)
    ]
    record = play_locally(
        machine,
        [
            Participant(role, series.engines[seat], player)
            for role, seat, player in zip(machine.roles, seats, players, strict=True)
        ],
        opening,
    )
    if record.errors or record.outcome != "finished":
        reason = "; ".join(f"{error.kind}, {error.detail}" for error in record.errors[:1]) or "a role has no legal move"
        raise CommandError(f"game {number} of {' against '.join(series.engines)} has no result: {reason}")

    goals = [points(goal) for goal in record.goals]
    first = _first_to_choose(machine, record.moves, len(opening))
    proven = [None if player.proven_from is None else len(opening) + player.proven_from for player in players]
    moves = [[write(move) for move in joint] for joint in record.moves]
    return GameRecord(
        number,
        seats,
        opening=moves[: len(opening)],
        moves=moves[len(opening) :],
        goals=[goals[role] for role in seats],
        chose_first=None if first is None else seats[first],
        proven_from=[proven[role] for role in seats],
        proofs_missed=[players[role].proofs_above(goals[role]) for role in seats],
        slowest=[round(players[role].slowest, 4) for role in seats],
        thought=[round(players[role].thought, 4) for role in seats],
        cpu=[round(players[role].cpu, 4) for role in seats],
    )


def pair_opening(machine: CircuitMachine, series: Series, pair: int) -> Opening:
    """The opening that both games of a pair begin with. Raises `InputError` where the series can have none."""
    if len(machine.roles) != 2:
        raise InputError("strength is measured in games of two roles; `ggp-agent tournament` takes any number")

    def is_balanced(opening: Opening) -> bool:
        engine = make_named_engine(series.engines[0], machine, 0)
        state = after(machine, opening)
        engine.begin(state)
        score = consider(engine, machine.legal(state, 0), Limit(JUDGING_SECONDS)).score
        value = None if score is None else score.goal
        return value is not None and BALANCE[0] <= value <= BALANCE[1]

    accept = is_balanced if series.balanced else lambda opening: True
    return draw_opening(machine, series.opening_plies, f"{series.seed} {pair}", accept)


def _first_to_choose(machine: CircuitMachine, moves: list[tuple[Term, ...]], opening_plies: int) -> int | None:
    """The role that was the first to have a choice after the opening; None if both were at once or never."""
    state = after(machine, moves[:opening_plies])
    for joint_move in moves[opening_plies:]:
        choosing = [role for role in (0, 1) if len(machine.legal(state, role)) > 1]
        if choosing:
            return choosing[0] if len(choosing) == 1 else None
        state = machine.next(state, joint_move)
    return None
