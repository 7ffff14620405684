"""What commands print for people: tables and colours where there is a terminal, plain text where there is none."""

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
    """Within, nothing goes to standard output, and no progress is shown, if `quiet`; errors are, on standard error."""
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
    """Whether someone looks at standard error who may like to see a bar."""
    return not _quiet and sys.stderr.isatty()


def is_quiet() -> bool:
    """Whether nothing but errors is to be told."""
    return _quiet


def console(*, stderr: bool = False) -> Console:
    """Where to print. Nothing is taken for markup or highlighted: names come from rulesheets."""
    # Imported when something is shown: `--help` is to be there at once.
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def print_table(columns: Sequence[tuple[str, Align]], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Prints rows under their headings: a table with lines on a terminal, else columns of plain text."""
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
    """Rows under their headings in columns of text, two blanks between them."""
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
    """Prints names with their values, one per line; the names stand back on a terminal."""
    from rich.text import Text

    width = max(len(name) for name, _ in fields)
    screen = console()
    for name, value in fields:
        screen.print(Text.assemble((f"{name:{width}}", "cyan"), "  ", value), soft_wrap=True)


def print_remarks(texts: Sequence[str]) -> None:
    """Prints errors and warnings as compilers do (see `agent.sheet`), the first line of each in its colour."""
    screen = console()
    for text in texts:
        first, *rest = text.split("\n")
        screen.print(first, style="red" if ": error: " in first else "yellow", soft_wrap=True)
        for line in rest:
            screen.print(line, soft_wrap=True)


def progress_bar(screen: Console) -> Progress:
    """A bar with how much is done, the time that it took and the time that is left; it goes when it ends."""
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
