"""Positions as pictures and tables, unseen positions computed, records read: work of the child of `agent.web.pictures`.

Rules are interpreted here, and looked through for boards, so it may take any time and memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from multiprocessing.connection import Connection
from typing import Any

from agent.boards.layout import Layout
from agent.boards.pieces import colours_of_roles
from agent.record.match import Position, State, facts_of
from agent.record.spelling import states_to_json
from agent.web.records import Version, read_record
from agent.web.transcript import Transcript
from games.machine import GameError, Term
from protocol.kif import write

MOST_FACTS = 3000
"""Most facts in the table of a position."""

SAMPLED = 24
"""Most positions of a match without rules from which its layout is found."""

KEPT = 4
"""Number of records kept with all their positions."""

_layouts: dict[str, Layout] = {}
"""Layouts of running matches, by their keys."""


def work(pipe: Connection) -> None:
    """Answers requests, each a function with its arguments: the result, and the error that a file is to blame for."""
    while True:
        request: tuple[Callable[..., object], tuple[object, ...]] = pipe.recv()
        function, arguments = request
        result, fault = None, None
        try:
            result = function(*arguments)
        except (OSError, ValueError) as error:
            fault = error
        pipe.send((result, fault))


def replay(rules: tuple[Term, ...], moves: Sequence[tuple[Term, ...]], known: State) -> list[bytes]:
    """Returns the states before each of the joint moves as JSON; none if these do not lead to the known position.

    Raises `GameError`.
    """
    # Imported here, as pages rarely need them.
    from games.gdl.interpreter.machine import Interpreter
    from games.gdl.rules.check import check

    machine = Interpreter(check(rules))
    state = machine.initial()
    found = []
    for joint_move in moves:
        found.append(states_to_json([(machine.facts(state), 1.0)]))
        state = machine.next(state, joint_move)
    return found if machine.facts(state) == facts_of(known) else []


def find(key: str, states: Sequence[State], rules: Sequence[Term], kept: Sequence[str]) -> None:
    """Finds the layout of a match, and forgets those of matches that are not `kept`."""
    for other in _layouts.keys() - set(kept):
        del _layouts[other]
    _layouts[key] = Layout.find([*map(facts_of, states)], (), rules)


def draw(
    key: str,
    roles: Sequence[str],
    state: State,
    before: State | None,
    legal: Sequence[Term],
    last: Sequence[Term],
) -> dict[str, Any]:
    """Returns a position in the layout of its match, see `Pictures.draw`."""
    return _drawn(_layouts[key], roles, state, before, legal, last)


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
        drawn = _drawn(_layout(version), roles, position.state, before, (), position.moves or ())
    return {"ply": ply, "known": True, **drawn}


@lru_cache(KEPT)
def _record(version: Version) -> Transcript:
    return read_record(version)


@lru_cache(KEPT)
def _layout(version: Version) -> Layout:
    record = _record(version)
    return Layout.find([*map(facts_of, sample(record))], (), record.rules)


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
    }


# --- without looking through rules, in any process


def unknown(ply: int) -> dict[str, Any]:
    """Returns an unknown position."""
    return {"ply": ply, "known": False, "svg": [], "rest": [], "gone": [], "choices": {}, "colours": []}


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
    }


def sample(transcript: Transcript) -> list[State]:
    """Returns the states from which a layout is found.

    With rules, one is enough, and a record gets the same layout as the running match.
    """
    states = [position.state for position in list(transcript.positions) if position.state is not None]
    return states[:1] if transcript.rules else states[:: max(1, len(states) // SAMPLED)][:SAMPLED]


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
