"""`ggp-agent serve`: waits for game managers and plays their matches."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from agent.commands.options import OK, add_command, count, seconds, write_json
from agent.errors import InputError
from agent.serving.clock import DEFAULT_MARGIN

if TYPE_CHECKING:
    from agent.commands.options import Commands

DEFAULT_PORT = 9147


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "serve",
        run,
        "wait for a game manager and play its matches",
        "Serves the agent over HTTP. A game manager connects to http://HOST:PORT, sends the rules of a match and asks "
        "for moves. The agent says `available` when its kernels are loaded. Stop it with Ctrl-C.",
    )
    parser.add_argument("--host", default="0.0.0.0", help="address to listen on (default: all, %(default)s)")
    parser.add_argument("--port", type=_port, default=DEFAULT_PORT, help="port to listen on (default: %(default)s)")
    parser.add_argument(
        "--margin",
        type=seconds,
        default=DEFAULT_MARGIN,
        metavar="S",
        help="seconds to keep back from every clock for the way to the manager (default: %(default)s)",
    )
    parser.add_argument(
        "--journal",
        type=Path,
        metavar="DIR",
        help="folder to note running matches in, so that they go on after a restart (default: none)",
    )
    parser.add_argument(
        "--workers",
        type=count,
        default=2,
        metavar="N",
        help="matches to play at the same time; further ones are refused (default: %(default)s)",
    )
    parser.add_argument(
        "--no-ponder", dest="ponder", action="store_false", help="do not think while it is the opponents' time"
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Serves until it is told to stop. Raises `InputError` where it cannot listen."""
    import asyncio
    import logging

    from agent.processes import LOG_FORMAT
    from agent.serving.player import ServeOptions, serve

    logging.basicConfig(level=logging.INFO, format=LOG_FORMAT)
    result: dict[str, object] = {"host": options.host, "port": options.port, "process": os.getpid()}

    def started(port: int) -> None:
        # Written at once: what started the server may want to know the port before it ends.
        result["port"] = port
        if options.json is not None:
            write_json(options.json, result)

    serving = ServeOptions(
        host=options.host,
        port=options.port,
        margin=options.margin,
        journal=options.journal,
        workers=options.workers,
        ponder=options.ponder,
    )
    try:
        asyncio.run(serve(serving, started))
    except OSError as error:
        raise InputError(f"{options.host}:{options.port}: {error.strerror or error}") from None
    return OK, result


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port} is no port")
    return port
