"""`ggp-agent replay`: shows records of matches and logs of tournaments on a page."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from agent.commands.options import OK, add_command, port
from agent.errors import InputError

if TYPE_CHECKING:
    from agent.commands.options import Commands
    from agent.web.tournaments import ShownTournament


ReadTournament: TypeAlias = "Callable[[Path], ShownTournament | None]"
"""Reads the log of a tournament; returns None for any other file. Raises `InputError`."""


def add(commands: Commands, read_tournament: ReadTournament) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "replay",
        partial(run, read_tournament),
        "show records of matches and logs of tournaments on a page",
        "Shows on a page what `match --record` and `tournament --log` have written: matches to step through, and "
        "tables. Only browsers on this machine are answered. Stop it with Ctrl-C.",
    )
    parser.add_argument(
        "records",
        nargs="+",
        type=Path,
        metavar="FILE|DIR",
        help="the record of a match, the log of a tournament, or a folder of them (*.json, *.jsonl)",
    )
    parser.add_argument("--port", type=port, default=0, help="port of the page (default: a free port)")


def run(read_tournament: ReadTournament, options: argparse.Namespace) -> tuple[int, object]:
    """Serves until it is interrupted. Raises `InputError` if there is nothing to show, or the port is taken."""
    import asyncio
    import contextlib

    from agent.web.gallery import Gallery
    from agent.web.hosting import serve_here
    from agent.web.records import Records
    from agent.web.site import Site

    for path in options.records:
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder")
    tournaments = {
        path: tournament
        for given in options.records
        for path in (sorted(given.glob("*.jsonl")) if given.is_dir() else [given])
        if (tournament := read_tournament(path)) is not None
    }
    found: list[dict[str, object]] = []

    async def show() -> None:
        records = Records([path for path in options.records if path not in tournaments])
        site = Site(Gallery(), title="ggp-agent replay", records=records, tournaments=list(tournaments.values()))
        found.extend(await site.summaries())
        async with serve_here(site, options.port) as address:
            links = [f"tournament/{tournament.key}" for tournament in tournaments.values()]
            links += [f"match/{match['key']}" for match in found]
            if not links:
                raise InputError(
                    "neither a record of a match nor the log of a tournament is among these: `ggp-agent match --record "
                    "FILE` and `ggp-agent tournament --log FILE` write such"
                )
            counted = [
                f"{number} {word if number == 1 else words}"
                for number, word, words in (
                    (len(tournaments), "tournament", "tournaments"),
                    (len(found), "match", "matches"),
                )
                if number
            ]
            place = f"#/{links[0]}" if len(links) == 1 else ""
            print(f"{' and '.join(counted)}: {address}/{place}", flush=True)
            await asyncio.Event().wait()

    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(show())
    except OSError as error:
        raise InputError(f"port {options.port}: {error.strerror}") from None
    return OK, {"matches": len(found), "tournaments": len(tournaments)}
