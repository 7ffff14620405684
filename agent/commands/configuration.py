"""`serve --config FILE`: options of a command from a TOML file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from agent.errors import InputError

OPTION = "--config"


def add_config(parser: argparse.ArgumentParser) -> None:
    """Adds the option, which `with_configuration` replaces by those in the file."""
    parser.add_argument(
        OPTION,
        type=_abbreviated,
        metavar="FILE",
        help="read options from a TOML file, each by its long name, as in `port = 9147`; what stands on the command "
        "line wins (default: none; an example: contrib/serve.toml)",
    )


def with_configuration(arguments: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """Returns a command line with the options of its file, if it names one, before its own, which win.

    `parser` is that of all commands. Raises `InputError` for a file that cannot be read, an option that is not there,
    or one that takes another kind of value.
    """
    commands = next((one.choices for one in parser._actions if isinstance(one, argparse._SubParsersAction)), {})
    command = commands.get(arguments[0]) if arguments else None
    if command is None:
        return list(arguments)
    known = {option: action for action in command._actions for option in action.option_strings}
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument(OPTION, type=Path)
    found, others = first.parse_known_args(arguments)
    if OPTION not in known or found.config is None:
        return list(arguments)
    # Other commands need not wait for it.
    import tomllib

    try:
        table = tomllib.loads(found.config.read_text(encoding="utf-8"))
        return [others[0], *_options(table, known), *others[1:]]
    except OSError as error:
        raise InputError(f"{found.config}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{found.config}: {error}") from None


def _abbreviated(text: str) -> str:
    """Refuses what `with_configuration` has left: it knows no abbreviations."""
    raise argparse.ArgumentTypeError(f"write {OPTION} in full")


def _options(table: Mapping[str, object], known: Mapping[str, argparse.Action]) -> Iterator[str]:
    """Yields a file's options as arguments; raises `ValueError`."""
    import difflib

    names = sorted(option.removeprefix("--") for option in known if option.startswith("--"))
    for name, value in table.items():
        action = known.get(f"--{name}")
        if action is None or name in ("help", OPTION.removeprefix("--")):
            close = "".join(f"; did you mean `{one}`?" for one in difflib.get_close_matches(name, names, 1))
            raise ValueError(f"there is no option `{name}`{close}")
        if action.nargs == 0:
            if not isinstance(value, bool):
                raise ValueError(f"`{name}` is true or false")
            opposite = f"--no-{name}"
            if value or opposite in action.option_strings:
                yield f"--{name}" if value else opposite
            continue
        several = value if isinstance(value, list) else [value]
        if isinstance(value, list) and not isinstance(action.default, list):
            raise ValueError(f"`{name}` is one value")
        if any(isinstance(one, bool) or not isinstance(one, str | int | float) for one in several):
            raise ValueError(f"`{name}` is a text or a number")
        yield from (f"--{name}={one}" for one in several)
