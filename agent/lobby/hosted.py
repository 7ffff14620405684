"""Entry of the process of one match of the lobby: hosts it as `ggp-agent match --watch` does, behind a private door."""

from __future__ import annotations

import contextlib
import sys
from multiprocessing.connection import Connection
from pathlib import Path


def host(pipe: Connection) -> None:
    """Plays the match that `MatchProcess` sends, if it does; the record is written at the end."""
    with contextlib.suppress(KeyboardInterrupt, EOFError):
        _host(pipe)


def _host(pipe: Connection) -> None:
    # Imported here: that takes a while, and it may be ended meanwhile.
    from agent.errors import CommandError
    from agent.kernels.state import read
    from agent.refereeing.hosting import host_match
    from agent.refereeing.referee import MatchWatcher
    from agent.refereeing.watching import Door
    from agent.search.kernel_groups import CIRCUIT, kernel_groups
    from agent.web.records import write_record
    from games.machine import GameError

    if read(CIRCUIT).complete:
        # While there is time: nobody may have asked yet.
        kernel_groups()[CIRCUIT].load()
    plan = pipe.recv()
    try:
        record = host_match(
            plan["game"],
            plan["players"],
            start_clock=plan["start_clock"],
            play_clock=plan["play_clock"],
            seed=plan["seed"],
            memory=plan["memory"] and Path(plan["memory"]),
            watcher=MatchWatcher(),
            watch=Door(Path(plan["socket"]), plan["key"], plan["token"]),
            match_id=plan["match_id"],
        )
    except (CommandError, GameError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    if record.states:
        write_record(Path(plan["record"]), record.as_json())
