"""Entry of the process of one match of the lobby: hosts it as `ggp-agent match --watch` does, behind a private door."""

from __future__ import annotations

import contextlib
import sys
from multiprocessing.connection import Connection
from pathlib import Path

MEMORY_BYTES, MEMORY_SHARE = 1 << 30, 1 / 8
"""Most memory that the rules may take, and most of the machine's."""


def host(pipe: Connection) -> None:
    """Plays the match that `MatchProcess` sends, if it does. The record is written after each joint move."""
    with contextlib.suppress(KeyboardInterrupt, EOFError):
        _host(pipe)


def _host(pipe: Connection) -> None:
    # Imported here: that takes a while, and it may be ended meanwhile.
    from agent.errors import CommandError
    from agent.lobby.recording import RecordKeeper
    from agent.refereeing.hosting import host_match
    from agent.refereeing.watching import Door
    from games.machine import GameError
    from games.memory import bound_memory, memory_part

    plan = pipe.recv()
    # From here on it depends on the rules how much is needed.
    bound_memory(memory_part(MEMORY_BYTES, MEMORY_SHARE))
    keeper, record = RecordKeeper(Path(plan["record"]), Path(plan["begun"])), None
    try:
        record = host_match(
            plan["game"],
            plan["players"],
            start_clock=plan["start_clock"],
            play_clock=plan["play_clock"],
            seed=plan["seed"],
            memory=plan["memory"] and Path(plan["memory"]),
            watcher=keeper,
            watch=Door(Path(plan["socket"]), plan["key"], plan["token"]),
            match_id=plan["match_id"],
            beside=plan["beside"],
        )
    except (CommandError, GameError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    finally:
        keeper.finish(record)
