"""Entry of the process of one match of the lobby: hosts it as `ggp-agent match --watch` does, behind a private door."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path


def main() -> int:
    """Plays the match that `MatchProcess` writes to standard input, if it does; the record is written at the end."""
    # Imported here, as processes that this one spawns import this file.
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
    text = sys.stdin.read()
    if not text:
        return 0
    plan = json.loads(text)
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
        return 1
    if record.states:
        write_record(Path(plan["record"]), record.as_json())
    return 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
