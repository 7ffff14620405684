"""Output of commands for people: tables and colours on a terminal, plain text elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

Align = Literal["left", "right"]

_quiet = False


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

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def print_table(columns: Sequence[tuple[str, Align]], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Prints rows under headings: a table on a terminal, else columns of plain text."""
    if not sys.stdout.isatty():
        if title:
            print(title)
        print(plain_table(columns, rows))
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(title) if title else None, title_justify="left", header_style="bold", box=SIMPLE_HEAD, pad_edge=False
    )
    for name, align in columns:
        table.add_column(Text(name), justify=align, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console().print(table)


def plain_table(columns: Sequence[tuple[str, Align]], rows: Sequence[Sequence[str]]) -> str:
    """Formats rows under headings in columns of plain text."""
    cells = [[name for name, _ in columns], *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    lines = (
        "  ".join(
            cell.rjust(width) if align == "right" else cell.ljust(width)
            for cell, width, (_, align) in zip(row, widths, columns, strict=True)
        ).rstrip()
        for row in cells
    )
    return "\n".join(lines)


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


def progress_bar(screen: Console) -> Progress:
    """Returns a bar with the count, elapsed time and remaining time; it vanishes at its end."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=screen,
        transient=True,
    )
