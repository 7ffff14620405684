"""`ggp-agent play`: the page where matches are begun and played by clicking."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from agent.commands.options import (
    OK,
    SHEET_HELP,
    add_command,
    check_folder,
    default_memory,
    default_state,
    network,
    own_rulesheets,
    port,
    usable_memory,
)
from agent.errors import InputError

if TYPE_CHECKING:
    from agent.commands.options import Commands

log = logging.getLogger(__name__)

DEFAULT_PORT = 9148


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "play",
        run,
        "play by clicking, on a page in the browser",
        "Opens a page where matches are begun, played and kept, and rulesheets are written, checked and measured. Only "
        "browsers on this machine are answered, at the address that is printed. Stop it with Ctrl-C.",
        epilog=own_rulesheets(),
    )
    parser.add_argument("game", metavar="FILE|NAME", nargs="?", help=f"{SHEET_HELP}, to begin with")
    parser.add_argument("--port", type=port, default=DEFAULT_PORT, help="port of the page (default: %(default)s)")
    parser.add_argument(
        "--no-browser", dest="browser", action="store_false", help="print the page's address only, open no browser"
    )
    parser.add_argument(
        "--allow",
        type=network,
        action="append",
        default=[],
        metavar="ADDRESS",
        help="also open the page to this address or network (10.0.0.0/8), for a phone; may be given several times",
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Serves until it is interrupted. Raises `InputError`."""
    import asyncio
    import contextlib
    import signal
    import socket
    import threading
    import webbrowser
    from urllib.parse import quote, urlsplit

    from agent.lobby.folder import passing_folder
    from agent.lobby.site import LobbySite
    from agent.serving.supervisor import raise_descriptors
    from agent.web.access import Access, link, new_token
    from agent.web.hosting import EVERYWHERE, HOST, serve_here

    # Each connection is one.
    raise_descriptors()
    given = None if options.game is None else _read(options.game)

    async def show(records: Path, folder: Path) -> None:
        access = Access(allowed=options.allow, token=(token := new_token()))
        site = LobbySite(records, folder, memory=usable_memory(default_memory()), access=access, given=given)
        async with serve_here(site, options.port, EVERYWHERE if options.allow else HOST) as address:
            place = "" if given is None else f"#/sheet/{quote(given[0])}"
            print(f"play here: {link(address, token)}{place}", flush=True)
            if options.allow:
                elsewhere = f"http://{socket.gethostname()}:{urlsplit(address).port}"
                print(f"on other machines: {link(elsewhere, token)}", flush=True)
            if options.browser:
                # Some browsers end only with their windows.
                page = link(address, access.new_ticket()) + place
                threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()
            stopped = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
            await stopped.wait()

    with passing_folder() as folder:
        try:
            with contextlib.suppress(KeyboardInterrupt):
                asyncio.run(show(_records() or folder / "records", folder))
        except OSError as error:
            raise InputError(f"port {options.port}: {error.strerror}") from None
    return OK, {}


def _read(game: str) -> tuple[str, str]:
    """Returns the name and the text of a sheet. Raises `InputError`."""
    from agent.sheet import find
    from protocol.terms import decode

    path = find(game)
    try:
        return path.stem, decode(path.read_bytes())
    except OSError as error:
        raise InputError(f"{game}: {error.strerror}") from None


def _records() -> Path | None:
    """Returns the folder of finished matches; None where it cannot be written."""
    folder = default_state("records")
    try:
        if folder is not None:
            check_folder(folder)
    except InputError as error:
        log.warning("records of matches are kept until the end only: %s", error)
        return None
    return folder
