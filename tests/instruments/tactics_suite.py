"""Suites of tactics, positions that are won or lost within a few plies: made, written and read."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from agent.errors import InputError
from agent.json_lines import read_lines
from agent.search.alphabeta.table import new_table
from agent.search.engine import limited
from agent.search.evaluation.features import find_features
from agent.search.evaluation.network import WIN, WON
from agent.search.learning.selfplay import play_match
from agent.search.pvs.analysis import PvsSearcher, PvsVerdict
from agent.search.pvs.survey import survey
from agent.search.pvs.workspace import SIDE
from protocol.kif import read_one, write

if TYPE_CHECKING:
    from games.gdl.running.machine import CircuitMachine
    from games.machine import State

FEWEST_PLIES, MOST_PLIES = 3, 12
"""Plies to the end of the match, with best play."""
DEPTH, OPENING, RANDOM, LONGEST = 2, 6, 3000, 200
"""Matches that positions are taken from: plies that both sides search, without an evaluation; random plies at first, at
most; chance of a random move, in 65536ths; plies, at most."""
MATCHES_PER_POSITION = 8
"""Matches for each wanted position, at most: many end in draws, or are won at once."""
OTHERS = 4
"""Moves tried by `_asks_for_a_choice`."""
PATIENCE = 6
"""Time of the search for each wanted position, in units of the seconds of a proof."""
MEGABYTES = 32
"""Size of the prover's transposition table, and of the players'."""


@dataclass(frozen=True)
class Tactic:
    """A position, with its proven result for the role that moves."""

    sheet: str
    """Rulesheet, as on the command line."""
    facts: tuple[str, ...]
    """Facts of the position, in KIF."""
    role: int
    won: bool
    plies: int
    """Plies to the end."""

    def state(self, machine: CircuitMachine) -> State:
        """Returns the position. Raises `UnknownFactError` where it is none of the machine's game."""
        return machine.state([read_one(fact) for fact in self.facts])


class TacticsProver:
    """Finds wins and losses, by alpha-beta without an evaluation."""

    def __init__(self, machine: CircuitMachine) -> None:
        zobrist = np.random.default_rng(1).integers(0, 1 << 64, len(machine.game.fluents), np.uint64)
        self._machine = machine
        self.searcher = PvsSearcher(machine, find_features(machine), new_table(MEGABYTES), zobrist)

    def plies(self, state: State, role: int, seconds: float) -> int | None:
        """Returns the plies until a role has won, or, negative, has lost; None where neither is proven in time, and
        within `MOST_PLIES`."""
        found: list[PvsVerdict] = []
        with limited(np.zeros(1, np.uint8), seconds) as stop:
            self.searcher.analyse(self._machine.pack(state), stop, found.append, MOST_PLIES, confirm=False)
        if not found or not found[-1].proven or abs(found[-1].score) <= WON:
            return None
        score = found[-1].score
        # A child of the root that ends the match has the full score.
        plies = WIN - abs(score) + 1
        side = 1 - int(self.searcher.game.settings[SIDE])
        return plies if (score > 0) == (side == role) else -plies


def is_tactical(machine: CircuitMachine) -> bool:
    """Whether the prover suits the game: two players who take turns against each other."""
    found = survey(machine)
    return found is not None and found.suits


def make_tactics(sheet: str, machine: CircuitMachine, count: int, seconds: float, seed: int) -> Iterator[Tactic]:
    """Yields up to `count` positions of matches of a game that `is_tactical`, each proven within `seconds`.

    The same ones for a seed, unless a busy machine does not prove some in time.
    """
    chance, prover, player = Random(seed), TacticsProver(machine), TacticsProver(machine).searcher
    seen: set[State] = set()
    balance = 0
    until = time.monotonic() + PATIENCE * seconds * count
    for number in range(MATCHES_PER_POSITION * count):
        if len(seen) == count or time.monotonic() > until:
            return
        end = _match(machine, player, seed + number)
        for state in chance.sample(end, min(3, len(end))):
            role = next((role for role in (0, 1) if len(machine.legal(state, role)) > 1), None)
            if state in seen or role is None:
                continue
            plies = prover.plies(state, role, seconds)
            if plies is None or not FEWEST_PLIES <= abs(plies) <= MOST_PLIES:
                continue
            # At most one loss more than wins: wins are rarer.
            if plies < 0 and balance < 0:
                continue
            if plies > 0 and not _asks_for_a_choice(machine, prover, state, role, seconds, chance):
                continue
            seen.add(state)
            balance += 1 if plies > 0 else -1
            facts = tuple(sorted(write(fact) for fact in machine.facts(state)))
            yield Tactic(sheet, facts, role, plies > 0, abs(plies))
            break


def after(machine: CircuitMachine, state: State, role: int, move: object) -> State:
    """Returns the state after a move of the role that chooses."""
    joint = [move if other == role else machine.legal(state, other)[0] for other in (0, 1)]
    return machine.next(state, joint)  # type: ignore[arg-type]


def _match(machine: CircuitMachine, searcher: PvsSearcher, seed: int) -> list[State]:
    """Returns the last positions of a match that somebody won, without those that a ply or two decide."""
    states = np.zeros((LONGEST, machine.words), np.uint64)
    movers, scores = np.zeros(LONGEST, np.int8), np.zeros(LONGEST, np.int64)
    rng = np.array([seed], np.uint64)
    root, stop = machine.pack(machine.initial()), np.zeros(1, np.uint8)
    opening = seed % (OPENING + 1)
    written = states, movers, scores
    n, result = play_match(searcher.game, searcher.game, root, DEPTH, opening, RANDOM, rng, *written, stop)
    if abs(int(result)) != WIN:
        return []
    last: NDArray[np.uint64] = states[max(0, n - MOST_PLIES) : max(0, n - FEWEST_PLIES + 1)]
    return [machine.unpack(words) for words in last]


def _asks_for_a_choice(
    machine: CircuitMachine, prover: TacticsProver, state: State, role: int, seconds: float, chance: Random
) -> bool:
    """Whether most moves do not win: otherwise finding one that does is no feat."""
    moves = machine.legal(state, role)
    begin = time.monotonic()
    some = chance.sample(moves, min(OTHERS, len(moves)))
    wins = 0
    for move in some:
        left = seconds - (time.monotonic() - begin)
        wins += wins_after(machine, prover, after(machine, state, role, move), role, left)
    return 2 * wins < len(some)


def wins_after(machine: CircuitMachine, prover: TacticsProver, state: State, role: int, seconds: float) -> bool:
    """Whether a state is proven to be won by a role, within the seconds and `MOST_PLIES`."""
    if machine.terminal(state):
        mine, other = (machine.goal(state, one) or 0 for one in (role, 1 - role))
        return mine > other and mine == max(machine.game.goals[role])
    plies = prover.plies(state, role, max(0.0, seconds))
    return plies is not None and plies > 0


def read_suite(path: Path) -> list[Tactic]:
    """Returns the positions of a file. Raises `InputError`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    found = []
    for number, fields in read_lines(data):
        if fields is None:
            raise InputError(f"{path}:{number}: no position of a suite")
        try:
            one = Tactic(
                str(fields["sheet"]),
                tuple(map(str, fields["facts"])),
                int(fields["role"]),
                bool(fields["won"]),
                int(fields["plies"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}:{number}: no position of a suite ({error!r})") from None
        if one.role not in (0, 1):
            raise InputError(f"{path}:{number}: role {one.role} of two, which are 0 and 1")
        found.append(one)
    return found


def line_of(tactic: Tactic) -> str:
    """Returns the line of a position in a file."""
    return json.dumps(asdict(tactic)) + "\n"
