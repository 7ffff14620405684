"""What commands print for people: tables and colours where there is a terminal, plain text where there is none."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console

Align = Literal["left", "right"]


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
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title) if title else None, title_justify="left", header_style="bold")
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
