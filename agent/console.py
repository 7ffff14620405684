"""Output of commands for people: colours on a terminal, plain text elsewhere."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_quiet = False


def open_streams() -> None:
    """Opens the standard streams that this process was started without: other files would get their descriptors.

    Characters that the console lacks, and halves of characters in names of files, are printed as escapes.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


@contextmanager
def quietness(quiet: bool) -> Iterator[None]:
    """Suppresses standard output and progress within the context, if `quiet`; errors go to standard error."""
    global _quiet
    before, _quiet = _quiet, _quiet or quiet
    try:
        if quiet:
            with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
                yield
        else:
            yield
    finally:
        _quiet = before


def shows_progress() -> bool:
    """Returns whether progress bars are shown: standard error is a terminal, and not silenced."""
    return not _quiet and sys.stderr.isatty()


def is_quiet() -> bool:
    """Returns whether only errors are shown."""
    return _quiet


def console(*, stderr: bool = False) -> Console:
    """Returns a console without markup and highlighting, as names come from rulesheets."""
    # Imported here, so that `--help` comes at once.
    from rich.console import Console

    class Screen(Console):
        """A console whose caller hears of a broken pipe; Rich's own exits."""

        def on_broken_pipe(self) -> None:
            raise

    return Screen(stderr=stderr, highlight=False, markup=False, emoji=False)


def print_fields(fields: Sequence[tuple[str, str]]) -> None:
    """Prints names with their values, one per line."""
    from rich.text import Text

    width = max(len(name) for name, _ in fields)
    screen = console()
    for name, value in fields:
        screen.print(Text.assemble((f"{name:{width}}", "cyan"), "  ", value), soft_wrap=True)


def print_remarks(texts: Sequence[str]) -> None:
    """Prints errors and warnings (see `agent.sheet`), the first line of each in colour."""
    screen = console()
    for text in texts:
        first, *rest = text.split("\n")
        screen.print(first, style="red" if ": error: " in first else "yellow", soft_wrap=True)
        for line in rest:
            screen.print(line, soft_wrap=True)
