"""Players, and their choice for roles."""

from __future__ import annotations

from collections import Counter

import pytest

from agent.errors import InputError
from agent.lab.tournament.contenders import parse_contender, parse_contenders
from agent.lab.tournament.pairing import seatings
from agent.lab.tournament.series import schedule
from agent.sheet import load

ENGINES = ["general", "tree"]


@pytest.mark.parametrize("players", range(1, 6))
@pytest.mark.parametrize("roles", range(1, 5))
def test_every_player_has_every_role_equally_often(players: int, roles: int) -> None:
    """Roles are shared equally, with fewer players than roles, too; no match comes twice."""
    names = [f"player {number}" for number in range(players)]
    tables = seatings(names, roles)
    assert len(set(tables)) == len(tables)
    counts = Counter((seat, role) for table in tables for role, seat in enumerate(table))
    assert len({counts[name, role] for name in names for role in range(roles)}) == 1
    if players >= roles:
        assert all(len(set(table)) == roles for table in tables)


def test_two_roles_are_a_double_round_robin() -> None:
    """For two roles, all pairs meet in both orders."""
    assert sorted(seatings(["a", "b", "c"], 2)) == [(a, b) for a in ("a", "b", "c") for b in ("a", "b", "c") if a != b]


def test_players_by_name() -> None:
    """Players are read with names, engines, times and seeds."""
    engine = parse_contender("fast=general@0.2+5", ENGINES)
    assert (engine.label, engine.engine, engine.seconds, engine.start_seconds) == ("fast", "general", 0.2, 5.0)
    assert parse_contender("general@1", ENGINES).label == "general@1"
    address = parse_contender("http://host:9147/?a=b", ENGINES)
    assert (address.kind, address.spec) == ("address", "http://host:9147/?a=b")
    assert parse_contender("random:7", ENGINES).seed == 7
    assert parse_contender("agent", ENGINES).over_http
    level = parse_contender("agent:easy", ENGINES)
    assert (level.kind, level.engine, level.seconds) == ("engine", "agent:easy", None)
    helped = parse_contender("general+2@1+5", ENGINES)
    assert (helped.engine, helped.seconds, helped.start_seconds) == ("general+2", 1.0, 5.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("general", "general@0.2"),
        ("general@0", "general@0.2"),
        ("general@1.2.3", "general@0.2"),
        ("robot", "a player is"),
        ("robot@1", "engines: general, tree"),
        ("ftp://host", "a player is"),
    ],
)
def test_players_that_make_no_sense(text: str, message: str) -> None:
    """The message names valid players."""
    with pytest.raises(InputError, match=message):
        parse_contender(text, ENGINES)


def test_players_are_told_apart() -> None:
    """Two of one name, or at one address, are refused; the same player under two names is not."""
    with pytest.raises(InputError, match="first=legal"):
        parse_contenders(["legal", "legal"], ENGINES)
    with pytest.raises(InputError, match="against itself"):
        parse_contenders(["a=http://host:1", "b=http://host:1/"], ENGINES)
    with pytest.raises(InputError, match="cannot play against itself"):
        parse_contenders(["a=http://localhost:1", "random", "b=http://127.0.0.1:1"], ENGINES)
    assert len(parse_contenders(["a=tree@1", "b=tree@1"], ENGINES)) == 2


def test_an_address_cannot_play_two_roles() -> None:
    """An address cannot play two roles of a match."""
    contenders = parse_contenders(["http://host:1", "legal"], ENGINES)
    assert len(schedule(contenders, [load("tic_tac_toe")], 2)) == 4
    with pytest.raises(InputError, match="at least 3 players"):
        schedule(contenders, [load("three_way_line")], 1)
