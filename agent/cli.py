"""The command line, `ggp-agent`: one command of `agent.commands` or `agent.lab.commands` a run."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from multiprocessing.connection import Connection

from agent.commands import inspect, match, ping, play, replay, serve, validate
from agent.commands.completion import add_completion
from agent.commands.configuration import with_configuration
from agent.commands.options import DIFFERENT, INTERRUPTED, UNREAD, WRONG_INPUT, write_json
from agent.console import open_streams, quietness
from agent.errors import InputError
from agent.lab.commands import balance, bench, conform, ladder, learn, rate, tournament

LABORATORY = (bench, conform, ladder)
"""Commands below `ggp-agent lab`, in the order of its help."""

REQUIRED = ("aiohttp", "clingo", "numba", "numpy", "prometheus_client", "rich", "shtab")
"""Packages of others, which pip leaves out where it is told to, and which a copied folder lacks."""


def main(argv: Sequence[str] | None = None, parser: argparse.ArgumentParser | None = None) -> int:
    """Runs one command, by default of `make_parser`, and returns its exit status."""
    open_streams()
    try:
        try:
            return _main(argv, parser or make_parser())
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # What reads the output has seen enough, as `head` has. What is left in the buffer goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return UNREAD


def run(pipe: Connection, *arguments: str) -> None:
    """Runs one command in a child process; each line that it prints is a message."""
    with contextlib.redirect_stdout(_Messages(pipe)):
        sys.exit(main(arguments))


def run_listening(pipe: Connection, token: str, *arguments: str) -> None:
    """Runs one command in a child process whose descriptor 3 is a listening socket, as if systemd had started it.

    Its page needs this token, which no other user finds in the environment.
    """
    os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()), **{serve.PAGE_TOKEN: token})
    run(pipe, *arguments)


def _main(argv: Sequence[str] | None, parser: argparse.ArgumentParser) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        arguments = with_configuration(arguments, parser)
    except InputError as error:
        from agent.logs import printable_lines

        print(printable_lines(str(error)), file=sys.stderr)
        return WRONG_INPUT
    options = parser.parse_args(arguments)
    options.arguments = arguments
    if missing := [name for name in REQUIRED if find_spec(name) is None]:
        python = ".".join(map(str, sys.version_info[:2]))
        print(f"this Python {python} lacks {', '.join(missing)}: install ggp-agent with pip", file=sys.stderr)
        return WRONG_INPUT
    # Imported after parsing: a wrong option needs no aiohttp.
    from agent.errors import CommandError
    from agent.logs import printable_lines
    from games.machine import GameError

    try:
        with quietness(options.quiet):
            status = _run(options)
    except CommandError as error:
        # Names in files and rules come from others.
        print(printable_lines(str(error)), file=sys.stderr)
        return WRONG_INPUT
    except GameError as error:
        print(f"these rules cannot be played: {printable_lines(str(error))}", file=sys.stderr)
        return DIFFERENT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return status


def _run(options: argparse.Namespace) -> int:
    sheets = _sheets(options)
    if sheets:
        from agent.sheet import load

        for game in sheets:
            load(game)
    if options.needed_kernels:
        from agent.kernels.progress import prepare

        prepare(options.needed_kernels).close()
    status, result = options.run(options)
    if options.json is not None:
        write_json(options.json, result)
    return int(status)


def _sheets(options: argparse.Namespace) -> Sequence[str]:
    """Returns the rulesheets that a command names."""
    named: str | Sequence[str] = getattr(options, options.sheets_in) if options.sheets_in else ()
    return (named,) if isinstance(named, str) else named


def make_parser() -> argparse.ArgumentParser:
    """Returns the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="ggp-agent",
        description="Plays any game whose rules it is sent (General Game Playing), and runs matches between players.",
        epilog="`ggp-agent COMMAND --help` explains each command.",
    )
    parser.add_argument("--version", action=_PrintVersion, nargs=0, help="print the version and exit")
    add_completion(parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    play.add(commands)
    serve.add(commands)
    match.add(commands)
    replay.add(commands, tournament.read_log)
    tournament.add(commands)
    balance.add(commands)
    rate.add(commands)
    learn.add(commands)
    for command in (ping, inspect, validate):
        command.add(commands)
    laboratory = commands.add_parser(
        "lab",
        help="measure speed and strength, check circuits (see `ggp-agent lab --help`)",
        description="Measures speed and strength, and checks circuits.",
    )
    below = laboratory.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in LABORATORY:
        command.add(below)
    return parser


class _Messages(io.TextIOBase):
    """Standard output of a command in a child process."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def write(self, text: str) -> int:
        """Sends a line; its end is written by itself."""
        if text.strip():
            self._pipe.send(text)
        return len(text)


class _PrintVersion(argparse.Action):
    """Prints the version, which is looked up on demand: that takes longer than parsing."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        from importlib.metadata import version

        print(f"{parser.prog} {version('ggp-agent')}")
        parser.exit(0)


if __name__ == "__main__":
    sys.exit(main())
