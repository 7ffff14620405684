"""Positions as pictures and tables, unseen positions computed, records read: work of the child of `agent.web.pictures`.

Rules are interpreted here, and looked through for boards, so it may take any time and memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

from agent.boards.layout import Layout
from agent.boards.pieces import colours_of_roles
from agent.record.match import Position, State, facts_of
from agent.record.positions import from_position
from agent.record.spelling import states_to_json
from agent.web.records import Version, read_record
from agent.web.transcript import Transcript
from games.gdl.rules.surface import has_imperfect_information
from games.machine import GameError, StateMachine, Term
from protocol.kif import read_one, write

MOST_FACTS = 3000
"""Most facts in the table of a position."""

KEPT = 4
"""Number of records kept with all their positions."""

MOST_FURTHER = 1000
"""Most joint moves that are played on."""

Facts: TypeAlias = frozenset[Term]

JointMove: TypeAlias = Sequence[str | None]
"""One move per role, as KIF text; None for the only one."""


class Game:
    """The rules of a match, as its positions are shown."""

    def __init__(self, states: Sequence[State], rules: tuple[Term, ...]) -> None:
        """`states` are known ones, of which the first is looked at."""
        self.layout = Layout(facts_of(states[0]) if states else (), rules)
        self.rules = rules

    @cached_property
    def machine(self) -> StateMachine:
        """The rules, interpreted. Raises `GameError`."""
        return _interpreter(self.rules)

    def play(self, facts: Facts, line: Sequence[JointMove]) -> Iterator[tuple[tuple[Term, ...], Facts]]:
        """Yields each joint move of a line, completed, and the facts after it. Raises `GameError` and `ValueError`."""
        state = self.machine.state(facts)
        for told in line:
            if len(told) != len(self.machine.roles):
                raise ValueError(f"a joint move has {len(self.machine.roles)} moves, not {len(told)}")
            moves = []
            for role, text in enumerate(told):
                legal = self.machine.legal(state, role)
                fitting = [move for move in legal if text is None or write(move) == text]
                if len(fitting) != 1:
                    raise ValueError(f"{write(self.machine.roles[role])} cannot play {text or 'without a choice'} here")
                moves.append(fitting[0])
            state = self.machine.next(state, moves)
            yield tuple(moves), self.machine.facts(state)


_games: dict[str, Game] = {}
"""Games of running matches, by the matches' keys."""


def work(pipe: Connection) -> None:
    """Answers requests, each a function with its arguments: the result, and the error that a file or rules caused."""
    while True:
        request: tuple[Callable[..., object], tuple[object, ...]] = pipe.recv()
        function, arguments = request
        result, fault = None, None
        try:
            result = function(*arguments)
        except (OSError, ValueError, GameError) as error:
            fault = error
        pipe.send((result, fault))


def replay(rules: tuple[Term, ...], moves: Sequence[tuple[Term, ...]], known: State) -> list[bytes]:
    """Returns the states before each of the joint moves as JSON; none if these do not lead to the known position.

    Raises `GameError`.
    """
    machine = _interpreter(rules)
    state = machine.initial()
    found = []
    for joint_move in moves:
        found.append(states_to_json([(machine.facts(state), 1.0)]))
        state = machine.next(state, joint_move)
    return found if machine.facts(state) == facts_of(known) else []


def _interpreter(rules: tuple[Term, ...]) -> StateMachine:
    # Imported here, as pages rarely need them.
    from games.gdl.interpreter.machine import Interpreter
    from games.gdl.rules.check import check

    return Interpreter(check(rules))


def find(key: str, states: Sequence[State], rules: tuple[Term, ...], kept: Sequence[str]) -> None:
    """Finds the layout of a match, and forgets those of matches that are not `kept`."""
    for other in _games.keys() - set(kept):
        del _games[other]
    _games[key] = Game(states, rules)


def draw(
    key: str,
    roles: Sequence[str],
    state: State,
    before: State | None,
    legal: Sequence[Term],
    last: Sequence[Term],
) -> dict[str, Any]:
    """Returns a position in the layout of its match, see `Pictures.draw`."""
    return _drawn(_games[key].layout, roles, state, before, legal, last)


def view(version: Version, beside: Mapping[str, object]) -> str:
    """Returns the page's data of a record as JSON text, with what is told beside them. Raises as `read_record` does."""
    return json.dumps({**_record(version).view(), **beside})


def draw_record(version: Version, ply: int, plain: bool) -> dict[str, Any]:
    """Returns a position of a record, see `Pictures.draw`; a `plain` one without looking through the rules."""
    record = _record(version)
    if not plain and unseen(record, ply):
        _fill_in(version)
    position = record.positions[ply] if ply < len(record.positions) else Position()
    if position.state is None:
        return unknown(ply)
    roles = list(map(write, record.roles))
    before = record.positions[ply - 1].state if ply else None
    if plain:
        drawn = table(roles, position.state, before)
    else:
        drawn = _drawn(_game(version).layout, roles, position.state, before, (), position.moves or ())
    return {"ply": ply, "known": True, **drawn}


def further(match: str | Version, state: State, line: Sequence[JointMove], running: bool = False) -> dict[str, Any]:
    """Returns the position after a line of joint moves from a state of a match, as `Pictures.draw` does.

    Beside that it tells the `legal` moves of each role, whether it is `terminal`, its `goals` then, and the joint move
    that led to it. A match that is `running` may have no secrets. Raises `GameError` and `ValueError`.
    """
    game = _game_of(match)
    if running and has_imperfect_information(game.rules):
        raise ValueError("who plays does not know the position")
    if len(line) > MOST_FURTHER:
        raise ValueError(f"more than {MOST_FURTHER} moves")
    facts = facts_of(state)
    machine, before, last = game.machine, None, tuple[Term, ...]()
    for moves, after in game.play(facts, line):
        before, facts, last = facts, after, moves
    here, roles = machine.state(facts), range(len(machine.roles))
    over = machine.terminal(here)
    legal = [[] if over else machine.legal(here, role) for role in roles]
    free = [move for moves in legal if len(moves) > 1 for move in moves] or [move for moves in legal for move in moves]
    return {
        **_drawn(game.layout, [*map(write, machine.roles)], facts, before, free, last),
        "known": True,
        "legal": [[*map(write, moves)] for moves in legal],
        "terminal": over,
        "goals": [machine.goal(here, role) for role in roles] if over else [],
        "moves": [*map(write, last)],
    }


def further_record(version: Version, ply: int, line: Sequence[JointMove]) -> dict[str, Any]:
    """Returns the position after a line of joint moves from a ply of a record, as `further` does."""
    return further(version, _state_at(version, ply), line)


def spell(match: str | Version, moves: Sequence[str]) -> dict[str, str]:
    """Returns moves of a match as people write them, by their KIF text. Raises `ValueError`."""
    return {text: _game_of(match).layout.spell(read_one(text)) for text in moves}


def _game_of(match: str | Version) -> Game:
    """Returns the game of a match of the gallery, by its key, or of a record."""
    return _games[match] if isinstance(match, str) else _game(match)


def begin_there(version: Version, ply: int, line: Sequence[JointMove]) -> str:
    """Returns the rulesheet of matches that begin after a line of joint moves from a ply of a record.

    Raises `GameError` and `ValueError`.
    """
    game, facts = _game(version), facts_of(_state_at(version, ply))
    for _, after in game.play(facts, line):
        facts = after
    rules = from_position(_record(version).rules, facts)
    if rules is None:
        raise ValueError("matches of this game cannot begin in the middle")
    return "\n".join(map(write, rules))


def _state_at(version: Version, ply: int) -> State:
    record = _record(version)
    if unseen(record, ply):
        _fill_in(version)
    state = record.positions[ply].state if ply < len(record.positions) else None
    if state is None or not record.rules:
        raise ValueError("this position is not known, or its rules are not")
    return state


@lru_cache(KEPT)
def _record(version: Version) -> Transcript:
    return read_record(version)


@lru_cache(KEPT)
def _game(version: Version) -> Game:
    record = _record(version)
    return Game(sample(record), record.rules)


@lru_cache(KEPT)
def _fill_in(version: Version) -> None:
    record = _record(version)
    try:
        record.fill_in(replay(*gap(record)))
    except GameError:
        # The other positions can still be shown.
        return


def _drawn(
    layout: Layout,
    roles: Sequence[str],
    state: State,
    before: State | None,
    legal: Sequence[Term],
    last: Sequence[Term],
) -> dict[str, Any]:
    drawing = layout.draw(facts_of(state), None if before is None else facts_of(before), legal, last)
    return {
        "colours": layout.colours(roles),
        "svg": list(drawing.svg),
        "rest": [[text, new] for text, new in drawing.rest[:MOST_FACTS]],
        "gone": list(drawing.gone[:MOST_FACTS]),
        "choices": {square: list(moves) for square, moves in drawing.choices.items()},
        "spelled": drawing.spelled,
        "emblems": layout.emblems(roles),
    }


# --- without looking through rules, in any process


def read_line(data: object) -> list[JointMove]:
    """Reads a line of joint moves from JSON data. Raises `ValueError`."""
    if not (isinstance(data, list) and all(isinstance(moves, list) for moves in data)):
        raise ValueError("a list of joint moves expected")
    if not all(move is None or isinstance(move, str) for moves in data for move in moves):
        raise ValueError("a move is a text, or null")
    return data


def unknown(ply: int) -> dict[str, Any]:
    """Returns an unknown position."""
    return {"ply": ply, "known": False, "svg": [], "rest": [], "gone": [], "choices": {}, "colours": [], "emblems": []}


def table(roles: list[str], state: State, before: State | None) -> dict[str, Any]:
    """Returns a position as the list of its facts."""
    facts, past = facts_of(state), frozenset[Term]() if before is None else facts_of(before)
    rest = sorted((write(fact), before is not None and fact not in past) for fact in facts)
    gone = sorted(write(fact) for fact in past - facts)
    return {
        "colours": colours_of_roles(roles, ()),
        "svg": [],
        "rest": rest[:MOST_FACTS],
        "gone": gone[:MOST_FACTS],
        "choices": {},
        "emblems": [],
    }


def sample(transcript: Transcript) -> list[State]:
    """Returns the first known state, from which a layout is found."""
    return [position.state for position in list(transcript.positions) if position.state is not None][:1]


def unseen(transcript: Transcript, ply: int) -> bool:
    """Returns whether the position at a ply is unknown, but a later one is known, as after a restart."""
    positions = transcript.positions[: len(transcript.positions)]
    return (
        bool(transcript.rules)
        and ply < len(positions)
        and positions[ply].state is None
        and any(position.state is not None for position in positions[ply + 1 :])
    )


def gap(transcript: Transcript) -> tuple[tuple[Term, ...], list[tuple[Term, ...]], State]:
    """Returns the arguments of `replay` for what is before the first known position. Raises `GameError`."""
    positions = list(transcript.positions)
    known = next((ply for ply, position in enumerate(positions) if position.state is not None), 0)
    moves = [position.moves for position in positions[1 : known + 1]]
    state = positions[known].state
    if state is None or None in moves:
        raise GameError("not all of the moves are known")
    return transcript.rules, [joint_move for joint_move in moves if joint_move is not None], state
