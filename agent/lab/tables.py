"""Tables on a terminal, plain text elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Literal

from agent.console import console

RIGHT = ">"
"""Begins headings of columns that are aligned to the right."""


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Prints rows under headings (see `RIGHT`): a table on a terminal, else columns of plain text."""
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
    for name in columns:
        align: Literal["left", "right"] = "right" if name.startswith(RIGHT) else "left"
        table.add_column(Text(name.removeprefix(RIGHT)), justify=align, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console().print(table)


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Formats rows under headings in columns of plain text."""
    cells = [[name.removeprefix(RIGHT) for name in columns], *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    lines = (
        "  ".join(
            cell.rjust(width) if name.startswith(RIGHT) else cell.ljust(width)
            for cell, width, name in zip(row, widths, columns, strict=True)
        ).rstrip()
        for row in cells
    )
    return "\n".join(lines)
