"""The command line, `ggp-agent`. Each command imports what it needs when it runs, so that `--help` is there at once."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from agent import train
from agent.clock import DEFAULT_MARGIN

Command: TypeAlias = Callable[[argparse.Namespace], tuple[int, object]]
"""Runs a command; returns its exit status and its result as JSON data."""

OK, DIFFERENT, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit statuses: all well, it ran but not as it should, it could not run, interrupted by the user."""

DEFAULT_PORT = 9147


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    options = _parser().parse_args(argv)
    # Imported after parsing: a wrong option needs no aiohttp.
    from agent.errors import CommandError
    from games.machine import GameError

    try:
        status, result = options.run(options)
        if options.json is not None:
            _write_json(options.json, result)
    except CommandError as error:
        print(error, file=sys.stderr)
        return WRONG_INPUT
    except GameError as error:
        print(f"these rules cannot be played: {error}", file=sys.stderr)
        return DIFFERENT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return status


def _write_json(path: Path, result: object) -> None:
    from agent.errors import InputError

    try:
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


# ------------------------------------------------------------------------------------------------------------ commands


def _serve(options: argparse.Namespace) -> tuple[int, object]:
    import asyncio
    import logging

    from agent.errors import InputError
    from agent.player import ServeOptions, serve

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    result: dict[str, object] = {"host": options.host, "port": options.port, "process": os.getpid()}

    def started(port: int) -> None:
        # Written at once: what started the server may want to know the port before it ends.
        result["port"] = port
        if options.json is not None:
            _write_json(options.json, result)

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


def _match(options: argparse.Namespace) -> tuple[int, object]:
    from agent.hosting import host_match

    record = host_match(
        options.game,
        options.players,
        start_clock=options.start_clock,
        play_clock=options.play_clock,
        scramble=options.scramble,
        seed=options.seed,
    )
    result = record.as_json()
    if options.record is not None:
        _write_json(options.record, result)
    return {"finished": OK, "stalled": DIFFERENT, "aborted": INTERRUPTED}[record.outcome], result


def _inspect(options: argparse.Namespace) -> tuple[int, object]:
    from agent.inspect import inspect

    return OK, inspect(options.file)


def _conform(options: argparse.Namespace) -> tuple[int, object]:
    from agent.conform import conform

    result = conform(options.directory, options.games)
    return DIFFERENT if result.failed else OK, result.as_json()


def _bench(options: argparse.Namespace) -> tuple[int, object]:
    from agent.bench import bench

    return OK, bench(options.files, options.seconds)


# ------------------------------------------------------------------------------------------------------------- options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ggp-agent",
        description="Plays any game whose rules it is sent (General Game Playing), and runs matches between players.",
        epilog="`ggp-agent COMMAND --help` explains each command.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    serve = _command(
        commands,
        "serve",
        _serve,
        "wait for a game manager and play its matches",
        "Serves the agent over HTTP. A game manager connects to http://HOST:PORT, sends the rules of a match and asks "
        "for moves. The agent says `available` when its kernels are loaded. Stop it with Ctrl-C.",
    )
    serve.add_argument("--host", default="0.0.0.0", help="address to listen on (default: all, %(default)s)")
    serve.add_argument("--port", type=_port, default=DEFAULT_PORT, help="port to listen on (default: %(default)s)")
    serve.add_argument(
        "--margin",
        type=_seconds,
        default=DEFAULT_MARGIN,
        metavar="S",
        help="seconds to keep back from every clock for the way to the manager (default: %(default)s)",
    )
    serve.add_argument(
        "--journal",
        type=Path,
        metavar="DIR",
        help="folder to note running matches in, so that they go on after a restart (default: none)",
    )
    serve.add_argument(
        "--workers",
        type=_count,
        default=2,
        metavar="N",
        help="matches to play at the same time; further ones are refused (default: %(default)s)",
    )
    serve.add_argument(
        "--no-ponder", dest="ponder", action="store_false", help="do not think while it is the opponents' time"
    )

    match = _command(
        commands,
        "match",
        _match,
        "run a match between players over HTTP",
        "Acts as the game manager of one match: sends the rules, keeps the clocks, checks every move, shows the match "
        "as it goes. Errors of players are recorded and do not end the match.",
    )
    match.add_argument("game", metavar="GAME", help="name of an own rulesheet (see below) or a rulesheet file")
    match.add_argument(
        "--players",
        type=_players,
        required=True,
        metavar="A,B[,C..]",
        help="one player per role, in the order of the roles: an address such as http://localhost:9147, or one of "
        "`agent` (a new process of this agent), `random`, `legal` (always the first legal move). A role named "
        "`random` is played by the referee and takes no player",
    )
    match.add_argument(
        "--start-clock", type=_count, default=30, metavar="S", help="seconds to get ready in (default: %(default)s)"
    )
    match.add_argument(
        "--play-clock", type=_count, default=5, metavar="S", help="seconds for each move (default: %(default)s)"
    )
    match.add_argument(
        "--scramble",
        choices=("none", "ggp-base", "dresden"),
        default="none",
        help="hide the rules' names from the players, as that manager does, and speak like it (default: %(default)s)",
    )
    match.add_argument("--seed", type=int, default=0, metavar="N", help="for scrambling and random moves (default: 0)")
    match.add_argument("--record", type=Path, metavar="FILE", help="file for the match record (JSON)")
    match.epilog = _own_rulesheets()

    inspect = _command(
        commands,
        "inspect",
        _inspect,
        "show what the agent makes of a rulesheet",
        "Shows a rulesheet's roles, kind and size, what it is recognised as, the engine that would play it, how long "
        "setting up takes, random playouts per second, and all warnings.",
    )
    inspect.add_argument("file", metavar="FILE", help="a rulesheet file, or the name of an own rulesheet")

    conform = _command(
        commands,
        "conform",
        _conform,
        "check rulesheets against reference traces",
        "Replays reference matches and compares states, legal moves, ends and goals. Exit status 1 if any differs.",
    )
    conform.add_argument("directory", type=Path, metavar="DIR", help="folder with GAME.kif and traces/GAME.json.gz")
    conform.add_argument("games", nargs="*", metavar="GAME", help="games to check (default: all)")

    bench = _command(
        commands,
        "bench",
        _bench,
        "measure random playouts per second",
        "Measures set-up time and random playouts (goals included) per game and engine, per CPU second of one core.",
    )
    bench.add_argument("files", nargs="*", metavar="FILE", help="rulesheets, files or names (default: all own ones)")
    bench.add_argument(
        "--seconds", type=_seconds, default=2.0, metavar="S", help="to measure each engine for (default: %(default)s)"
    )
    train.add_commands(partial(_command, commands))
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: Command,
    summary: str,
    description: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=summary, description=description)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result to FILE as JSON as well")
    parser.set_defaults(run=run)
    return parser


def _own_rulesheets() -> str:
    from games import rulesheets

    return "own rulesheets: " + ", ".join(rulesheets.names())


def _players(text: str) -> list[str]:
    return [player.strip() for player in text.split(",") if player.strip()]


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port} is no port")
    return port


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError("no number of seconds")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
