"""Positions that are won or lost within a few plies, which nothing but search shows: made, written and read."""

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
from agent.search.alphabeta.table import new_table
from agent.search.engine import limited
from agent.search.evaluation.features import find_features
from agent.search.evaluation.scale import WIN, WON
from agent.search.learning.selfplay import play_match
from agent.search.pvs.analysis import PvsSearcher, PvsVerdict
from agent.search.pvs.survey import survey
from agent.search.pvs.workspace import SIDE
from protocol.kif import read_one, write

if TYPE_CHECKING:
    from games.gdl.running.machine import CircuitMachine
    from games.machine import State

FEWEST_PLIES, MOST_PLIES = 3, 12
"""To the end of the match, with best play."""
DEPTH, OPENING, RANDOM, LONGEST = 2, 6, 3000, 200
"""Of the matches that positions are taken from: plies that both sides search, without any evaluation; most random plies
at first; chance of a random move, in 65536ths; most plies."""
MATCHES_PER_POSITION = 8
"""Matches that are played at most, per position that is wanted: many end in draws, or are won at once."""
OTHERS = 4
"""Other moves that are looked at: where all of them win as well, finding one is no feat."""
PATIENCE = 6
"""Times the seconds of a proof, per position that is wanted: so long is looked for them."""
MEGABYTES = 32
"""For the prover's transposition table, and that of the players."""


@dataclass(frozen=True)
class Tactic:
    """A position, and what is proven of it for the role that moves."""

    sheet: str
    """A rulesheet, as on the command line."""
    facts: tuple[str, ...]
    """Those of the position, in KIF."""
    role: int
    won: bool
    plies: int
    """To the end."""

    def state(self, machine: CircuitMachine) -> State:
        """The position. Raises `UnknownFactError` where it is none of the machine's game."""
        return machine.state([read_one(fact) for fact in self.facts])


class Prover:
    """Finds wins and losses, by alpha-beta without any evaluation."""

    def __init__(self, machine: CircuitMachine) -> None:
        zobrist = np.random.default_rng(1).integers(0, 1 << 64, len(machine.game.fluents), np.uint64)
        self._machine = machine
        self.searcher = PvsSearcher(machine, find_features(machine, 1), new_table(MEGABYTES), zobrist)

    def plies(self, state: State, role: int, seconds: float) -> int | None:
        """Plies in which a role has won, or, negative, has lost; None where that is not proven in so many seconds, and
        `MOST_PLIES`."""
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
    """Whether the game is one for the prover: two players who take turns against one another."""
    found = survey(machine)
    return found is not None and found.suits


def make_tactics(sheet: str, machine: CircuitMachine, count: int, seconds: float, seed: int) -> Iterator[Tactic]:
    """So many positions of matches of a game that `is_tactical`, each proven within `seconds`; fewer where they are
    rare. The same for a seed, but for what a busy machine does not prove in time."""
    chance, prover, player = Random(seed), Prover(machine), Prover(machine).searcher
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
            # No more losses than wins, and one: these are the rarer ones.
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
    """The state after a move of the role that chooses."""
    joint = [move if other == role else machine.legal(state, other)[0] for other in (0, 1)]
    return machine.next(state, joint)  # type: ignore[arg-type]


def _match(machine: CircuitMachine, searcher: PvsSearcher, seed: int) -> list[State]:
    """The last positions of a match that somebody has won, without those in which a ply or two decide."""
    states = np.zeros((LONGEST, machine.words), np.uint64)
    scores, rng = np.zeros(LONGEST, np.int64), np.array([seed], np.uint64)
    root, stop = machine.pack(machine.initial()), np.zeros(1, np.uint8)
    opening = seed % (OPENING + 1)
    n, result = play_match(searcher.game, searcher.game, root, DEPTH, opening, RANDOM, rng, states, scores, stop)
    if abs(int(result)) != WIN:
        return []
    last: NDArray[np.uint64] = states[max(0, n - MOST_PLIES) : max(0, n - FEWEST_PLIES + 1)]
    return [machine.unpack(words) for words in last]


def _asks_for_a_choice(
    machine: CircuitMachine, prover: Prover, state: State, role: int, seconds: float, chance: Random
) -> bool:
    """Whether most moves do not win."""
    moves = machine.legal(state, role)
    begin = time.monotonic()
    some = chance.sample(moves, min(OTHERS, len(moves)))
    wins = 0
    for move in some:
        left = seconds - (time.monotonic() - begin)
        wins += wins_after(machine, prover, after(machine, state, role, move), role, left)
    return 2 * wins < len(some)


def wins_after(machine: CircuitMachine, prover: Prover, state: State, role: int, seconds: float) -> bool:
    """Whether a state is proven to be won by a role, within so many seconds and the most plies."""
    if machine.terminal(state):
        mine, other = (machine.goal(state, one) or 0 for one in (role, 1 - role))
        return mine > other and mine == max(machine.game.goals[role])
    plies = prover.plies(state, role, max(0.0, seconds))
    return plies is not None and plies > 0


def read_suite(path: Path) -> list[Tactic]:
    """Those of a file. Raises `InputError` for one that cannot be read, or is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    found = []
    for number, line in enumerate(lines, 1):
        try:
            fields = json.loads(line)
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
    """One line of a suite's file."""
    return json.dumps(asdict(tactic)) + "\n"
