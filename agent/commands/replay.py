"""`ggp-agent replay`: shows records of matches on a page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from agent.commands.options import OK, add_command, port
from agent.errors import InputError

if TYPE_CHECKING:
    from agent.commands.options import Commands


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "replay",
        run,
        "show records of matches on a page",
        "Shows the records that `match --record` has written on a page, to be stepped through. Only browsers on this "
        "machine are answered. Stop it with Ctrl-C.",
    )
    parser.add_argument("records", nargs="+", type=Path, metavar="FILE|DIR", help="a record, or a folder of such")
    parser.add_argument("--port", type=port, default=0, help="port of the page (default: a free one)")


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Serves until it is interrupted. Raises `InputError` where there is nothing to show, or the port is taken."""
    import asyncio
    import contextlib

    from agent.web.gallery import Gallery
    from agent.web.hosting import serve_here
    from agent.web.records import Records
    from agent.web.site import Site

    for path in options.records:
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder")
    records = Records(options.records)
    found = records.summaries()
    if not found:
        raise InputError("no record of a match is among these: `ggp-agent match --record FILE` writes such")

    async def show() -> None:
        site = Site(Gallery(), title="ggp-agent replay", records=records)
        async with serve_here(site, options.port) as address:
            place = f"#/match/{found[0]['key']}" if len(found) == 1 else ""
            print(f"{len(found)} match{'es' * (len(found) != 1)}: {address}/{place}", flush=True)
            await asyncio.Event().wait()

    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(show())
    except OSError as error:
        raise InputError(f"port {options.port}: {error.strerror}") from None
    return OK, {"matches": len(found)}
