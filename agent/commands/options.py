"""Shared parts of commands: parsers, options and their types, exit statuses, JSON files."""

from __future__ import annotations

import argparse
import json
import logging
import os
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from agent.errors import InputError

if TYPE_CHECKING:
    import ipaddress

    # At run time, argparse's own name for it is private.
    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]

Run: TypeAlias = Callable[[argparse.Namespace], tuple[int, object]]
"""Runs a command; returns its exit status and its result as JSON data."""

log = logging.getLogger(__name__)

OK, DIFFERENT, WRONG_INPUT, INTERRUPTED, UNREAD = 0, 1, 2, 130, 141
"""Exit statuses: success, bad result, could not run, interrupted by the user, nobody reads the output any more."""

SHEET_HELP = "a rulesheet file, or the name of an own rulesheet"


def add_command(
    commands: Commands,
    name: str,
    run: Run,
    summary: str,
    description: str,
    epilog: str | None = None,
    kernels: Collection[str] = (),
    sheets: str | None = None,
) -> argparse.ArgumentParser:
    """Adds a command, with an option to write its result as JSON; returns its parser.

    The groups of `kernels` are compiled before it runs, unless they are in the cache. `sheets` is the argument that
    names rulesheets: they are read first, as mistakes in them should not have to wait for kernels.
    """
    parser = commands.add_parser(name, help=summary, description=description, epilog=epilog)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the result to FILE as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    parser.set_defaults(run=run, needed_kernels=kernels, sheets_in=sheets)
    return parser


def write_json(path: Path, result: object) -> None:
    """Writes JSON data to a file. Raises `InputError`."""
    try:
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def check_folder(folder: Path) -> None:
    """Creates a folder. Raises `InputError` where no file can be written in it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}") from None


def usable_memory(memory: Path | None) -> Path | None:
    """Returns the folder of `--memory`, None if it is the default and cannot be written, which is said.

    Raises `InputError` for any other that cannot be written.
    """
    try:
        if memory is not None:
            check_folder(memory)
    except InputError as error:
        if memory != default_memory():
            raise
        log.warning("what is learnt of games is not kept: %s", error)
        return None
    return memory


def add_memory_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--memory DIR`: the option `memory` is a folder, None for a user without a home."""
    parser.add_argument(
        "--memory",
        type=Path,
        metavar="DIR",
        default=default_memory(),
        help="folder of what was learnt of games, for later matches (default: %(default)s)",
    )


def add_memory_options(parser: argparse.ArgumentParser) -> None:
    """Adds `--memory DIR` and `--no-memory`: the option `memory` is a folder, or None."""
    add_memory_option(parser)
    parser.add_argument(
        "--no-memory",
        dest="memory",
        action="store_const",
        const=None,
        help="learn each game anew and keep nothing, for fair comparisons",
    )


def add_manager_options(parser: argparse.ArgumentParser, players: str) -> None:
    """Adds the options of managers: clocks and scrambling. `players` is the name of players in the help."""
    parser.add_argument(
        "--start-clock",
        type=clock,
        default=30,
        metavar="S",
        help=f"seconds for {players} to get ready (default: %(default)s)",
    )
    parser.add_argument(
        "--play-clock",
        type=clock,
        default=5,
        metavar="S",
        help=f"seconds for {players} for each move (default: %(default)s)",
    )
    parser.add_argument(
        "--scramble",
        choices=("none", "ggp-base", "dresden"),
        default="none",
        help=f"hide names of the rules from {players}, and speak, like this manager (default: %(default)s)",
    )


def add_watch_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Adds `--watch [PORT]`: the option `watch` is a port, 0 for a free one, or None. `what` begins the help."""
    parser.add_argument(
        "--watch",
        type=port,
        nargs="?",
        const=0,
        metavar="PORT",
        help=f"{what}, at this port of this machine (default: a free port)",
    )


def default_memory() -> Path | None:
    """Returns the folder of what was learnt of games; None for a user without a home."""
    return default_state("memory")


def default_state(name: str) -> Path | None:
    """Returns a folder by the XDG Base Directory Specification; None for a user without a home."""
    chosen = Path(os.environ.get("XDG_STATE_HOME", ""))
    try:
        base = chosen if chosen.is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        return None
    return base / "ggp-agent" / name if base.is_absolute() else None


def own_rulesheets() -> str:
    """Returns a line of help with the names of the project's own rulesheets."""
    from games import rulesheets

    return "own rulesheets: " + ", ".join(rulesheets.names())


def players(text: str) -> list[str]:
    """Parses a list of players, with commas between."""
    return [player.strip() for player in text.split(",") if player.strip()]


def count(text: str) -> int:
    """Parses a whole number, 1 or more."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def clock(text: str) -> int:
    """Parses a clock of a match, in seconds: what players can be sent."""
    from protocol.vocabulary import LONGEST_CLOCK

    number = int(text)
    if not 1 <= number <= LONGEST_CLOCK:
        raise argparse.ArgumentTypeError(f"a clock is 1 to {LONGEST_CLOCK} seconds")
    return number


def seconds(text: str) -> float:
    """Parses a time in seconds."""
    number = float(text)
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError("no number of seconds")
    return number


def network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """Parses an address or a network."""
    import ipaddress

    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no address or network") from None


def port(text: str) -> int:
    """Parses a port; 0 stands for a free one."""
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{number} is no port")
    return number
