"""Tables for people, on terminals and elsewhere."""

from __future__ import annotations

import pytest

from agent.lab.tables import plain_table, print_table
from tests.agent.terminal import shown_on_a_terminal


def test_tables_have_lines_on_terminals_only(capsys: pytest.CaptureFixture[str]) -> None:
    """Elsewhere they are plain text; names are never markup."""
    call = "print_table(['name', '>n'], [('[red]x[/red]', '10'), ('y', '9')], 'title')"
    exec(call, {"print_table": print_table})
    assert capsys.readouterr().out.splitlines() == ["title", "name           n", "[red]x[/red]  10", "y              9"]
    shown = shown_on_a_terminal("-c", f"from agent.lab.tables import print_table\n{call}")
    assert "[red]x[/red]" in shown
    assert "─" in shown


def test_plain_table_without_rows() -> None:
    """The headings alone."""
    assert plain_table(["a", ">b"], []) == "a  b"
