"""The command line, `ggp-agent`: one command of `agent.commands` a run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from agent.commands import (
    agree,
    bench,
    conform,
    gaps,
    inspect,
    match,
    perft,
    ping,
    replay,
    serve,
    soak,
    solve,
    strength,
    tactics,
    tournament,
    train,
    validate,
)
from agent.commands.completion import add_completion
from agent.commands.options import DIFFERENT, INTERRUPTED, WRONG_INPUT, write_json

COMMANDS = (
    serve,
    match,
    replay,
    tournament,
    ping,
    inspect,
    validate,
    conform,
    bench,
    perft,
    agree,
    strength,
    tactics,
    solve,
    soak,
    gaps,
    train,
)
"""In the order of the help text."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    options = _parser().parse_args(argv)
    options.arguments = list(sys.argv[1:] if argv is None else argv)
    # Imported after parsing: a wrong option needs no aiohttp.
    from agent.console import quietness
    from agent.errors import CommandError
    from games.machine import GameError

    try:
        with quietness(options.quiet):
            status = _run(options)
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
    """The rulesheets that the command is for."""
    named: str | Sequence[str] = getattr(options, options.sheets_in) if options.sheets_in else ()
    return (named,) if isinstance(named, str) else named


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ggp-agent",
        description="Plays any game whose rules it is sent (General Game Playing), and runs matches between players.",
        epilog="`ggp-agent COMMAND --help` explains each command.",
    )
    add_completion(parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
