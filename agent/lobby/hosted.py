"""Entry of the process of one match of the lobby: hosts it as `ggp-agent match --watch` does, behind a private door."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

from agent.errors import CommandError
from agent.refereeing.hosting import host_match
from agent.refereeing.referee import MatchWatcher
from agent.refereeing.watching import Door
from games.machine import GameError


def main() -> int:
    """Plays the match that `MatchProcess` has written to standard input; the record is written when it is over."""
    plan = json.load(sys.stdin)
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
        # Whole at once: the folder is listed meanwhile.
        path = Path(plan["record"])
        unfinished = path.with_suffix(".part")
        unfinished.write_text(json.dumps(record.as_json()), encoding="utf-8")
        unfinished.replace(path)
    return 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
