"""`ggp-agent serve`: waits for game managers and plays their matches."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent.commands.configuration import add_config
from agent.commands.options import (
    OK,
    add_command,
    add_memory_options,
    check_folder,
    count,
    network,
    port,
    seconds,
    usable_memory,
    write_json,
)
from agent.errors import InputError
from agent.search.levels import LEVELS, PREFIX, level_of
from agent.serving.clock import DEFAULT_MARGIN, SILENCE_SECONDS
from games import kernel_cache

if TYPE_CHECKING:
    import socket

    from agent.commands.options import Commands

log = logging.getLogger(__name__)

DEFAULT_PORT = 9147

PAGE_TOKEN = "GGP_AGENT_PAGE_TOKEN"
"""Variable of the environment with a token that requests for the page need; without it none is needed."""


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
    add_config(parser)
    parser.add_argument("--host", help="address to listen on (default: all, of IPv4 and IPv6)")
    parser.add_argument("--port", type=port, default=DEFAULT_PORT, help="port to listen on (default: %(default)s)")
    parser.add_argument(
        "--margin",
        type=seconds,
        default=DEFAULT_MARGIN,
        metavar="S",
        help="seconds to keep back from every clock, at least, for the way to the manager; more, up to half of a "
        "clock, after slow round trips or delays of this machine (default: %(default)s)",
    )
    parser.add_argument(
        "--journal",
        type=Path,
        metavar="DIR",
        help="folder to note running matches in, which then go on after a restart (default: none)",
    )
    add_memory_options(parser)
    parser.add_argument(
        "--workers",
        "--max-matches",
        type=count,
        default=2,
        metavar="N",
        help="matches at the same time, each with a process of its own and its share of memory; START of another one "
        "is answered `busy` (default: %(default)s)",
    )
    parser.add_argument(
        "--silence",
        type=seconds,
        default=SILENCE_SECONDS,
        metavar="S",
        help="close a match whose manager is silent for three clocks and S seconds (default: %(default)s)",
    )
    parser.add_argument(
        "--allow",
        type=network,
        action="append",
        default=[],
        metavar="ADDRESS",
        help="answer only this address or network (10.0.0.0/8); may be given several times (default: all)",
    )
    parser.add_argument(
        "--browser",
        type=_origin,
        action="append",
        default=[],
        metavar="ORIGIN",
        help="answer also a manager that is a page of this site (https://gamemaster.example) in a browser; may be "
        "given several times (default: none)",
    )
    parser.add_argument(
        "--no-ponder",
        dest="ponder",
        action="store_false",
        help="do not think while others are to move (the start clock is used all the same)",
    )
    parser.add_argument(
        "--page",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="show matches to browsers, at the same port: on this machine, and at addresses given with --allow "
        "(default: yes)",
    )
    parser.add_argument(
        "--local-page",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="show them on this machine also where --allow does not name it; not where others seem to come from it: "
        "behind a proxy, or a port that a container's engine forwards (default: yes)",
    )
    parser.add_argument(
        "--bind-manager",
        action="store_true",
        help="let only the address that has begun a match send its further messages, of IPv6 the network of 64 bits; "
        "not for managers behind several addresses (default: whoever knows its name may)",
    )
    parser.add_argument(
        "--records",
        type=Path,
        metavar="DIR",
        help="folder of match records: the page shows them, and adds its own (default: none)",
    )
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="also search with helpers on the cores of a Ray cluster, `auto` for that of this machine "
        "(docs/cluster-match.md; default: on this machine alone)",
    )
    parser.add_argument(
        "--helpers", type=count, default=0, metavar="N", help="cores of the cluster, at most (default: all)"
    )
    parser.add_argument(
        "--level",
        type=_level,
        metavar="LEVEL",
        help=f"play at a level that no clock or machine changes: {', '.join(LEVELS)}, or a number of playouts a move; "
        "without pondering, memory and helpers (default: as well as the clocks allow)",
    )
    parser.add_argument("--log-json", action="store_true", help="log a JSON object per line instead of text")
    parser.add_argument(
        "--no-supervisor",
        dest="supervised",
        action="store_false",
        help="serve in this process, which nothing restarts after a crash",
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Serves until it is stopped. Raises `InputError` if it cannot listen."""
    from agent.logs import JSON_LOGS, start_logging
    from agent.serving.supervisor import RESTARTS, inherited_socket, listen, raise_descriptors, raise_priority

    # From the beginning: a match may wait for this process to be ready.
    raise_priority()
    raise_descriptors()
    if options.log_json:
        os.environ[JSON_LOGS] = "1"
    start_logging()
    if kernel_cache.notice:
        log.warning(kernel_cache.notice)
    if RESTARTS not in os.environ:
        # Later the disk may come back, and there are matches to play.
        for folder in filter(None, (options.journal, options.records)):
            check_folder(folder)
        options.memory = usable_memory(options.memory)
    try:
        listener = inherited_socket() or listen(options.host, options.port)
    except OSError as error:
        raise _not_listening(options, error) from None
    return _supervise(options, listener) if options.supervised else _serve(options, listener)


def _supervise(options: argparse.Namespace, listener: socket.socket) -> tuple[int, object]:
    """Keeps another process serving."""
    from agent.serving.supervisor import Supervisor
    from games.child_process import module_environment

    result = _result(options, listener)
    if options.json is not None:
        # Written at once: scripts want to know the port.
        write_json(options.json, result)
    memory = () if options.memory else ("--no-memory",)
    command = (sys.executable, "-m", "agent.cli", *options.arguments, *memory, "--no-supervisor")
    return Supervisor(listener, command, module_environment()).run(), result


def _serve(options: argparse.Namespace, listener: socket.socket) -> tuple[int, object]:
    """Serves in this process."""
    from agent.serving.starting import start_early

    # Before anything else is imported.
    early = start_early(options.journal, options.workers)
    # On import, aiohttp's client would read all certificates of the system, while a match may be waiting.
    os.environ.setdefault("SSL_CERT_FILE", os.devnull)
    os.environ.setdefault("SSL_CERT_DIR", os.devnull)

    import asyncio

    from agent.playing.messages import Cluster
    from agent.serving.player import ServeOptions, serve
    from agent.serving.supervisor import RESTARTS

    result = _result(options, listener)
    if RESTARTS in os.environ:
        # The supervisor has written it.
        options.json = None

    def started(port: int) -> None:
        if options.json is not None:
            write_json(options.json, result)

    serving = ServeOptions(
        margin=options.margin,
        journal=options.journal,
        workers=options.workers,
        silence=options.silence,
        ponder=options.ponder,
        allow=tuple(options.allow),
        browsers=tuple(options.browser),
        restarts=int(os.environ.get(RESTARTS, "0")),
        memory=options.memory,
        page=options.page,
        local_page=options.local_page,
        page_token=os.environ.get(PAGE_TOKEN),
        bind_manager=options.bind_manager,
        records=options.records,
        cluster=None if options.cluster is None else Cluster(options.cluster, options.helpers),
        level=options.level,
    )
    try:
        asyncio.run(serve(serving, started, listener, early))
    except OSError as error:
        raise _not_listening(options, error) from None
    return OK, result


def _not_listening(options: argparse.Namespace, error: OSError) -> InputError:
    from agent.serving.player import address_of

    place = address_of(options.host, options.port).removeprefix("http://") if options.host else f"port {options.port}"
    return InputError(f"{place}: {error.strerror or error}")


def _result(options: argparse.Namespace, listener: socket.socket) -> dict[str, object]:
    address = listener.getsockname()
    host, port = address[:2] if isinstance(address, tuple) else (options.host, options.port)
    return {"host": host, "port": port, "process": os.getpid()}


def _level(text: str) -> str:
    if level_of(PREFIX + text) is None:
        raise argparse.ArgumentTypeError(f"{text} is none of {', '.join(LEVELS)}, and no number of playouts")
    return text


def _origin(text: str) -> str:
    """Returns the origin of a page's address, as browsers spell it."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from None
    if not parts.scheme or not parts.hostname:
        raise argparse.ArgumentTypeError(f"{text} is no address of a page; one looks like https://gamemaster.example")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    usual = port is None or port == {"http": 80, "https": 443}.get(parts.scheme)
    return f"{parts.scheme}://{host}" + ("" if usual else f":{port}")
