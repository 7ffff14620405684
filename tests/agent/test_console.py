"""Output for people, on terminals and elsewhere."""

from __future__ import annotations

import pytest

from agent.console import is_quiet, plain_table, print_remarks, print_table, quietness
from tests.agent.terminal import shown_on_a_terminal


def test_tables_have_lines_on_terminals_only(capsys: pytest.CaptureFixture[str]) -> None:
    """Elsewhere they are plain text; names are never markup."""
    call = "print_table([('name', 'left'), ('n', 'right')], [('[red]x[/red]', '10'), ('y', '9')], 'title')"
    exec(call, {"print_table": print_table})
    assert capsys.readouterr().out.splitlines() == ["title", "name           n", "[red]x[/red]  10", "y              9"]
    shown = shown_on_a_terminal("-c", f"from agent.console import print_table\n{call}")
    assert "[red]x[/red]" in shown
    assert "─" in shown


def test_remarks_are_coloured_on_terminals_only(capsys: pytest.CaptureFixture[str]) -> None:
    """The line with the caret stays as it is."""
    remark = "sheet.kif:1:2: error: wrong\n    (p [b])\n     ^"
    print_remarks([remark])
    assert capsys.readouterr().out == remark + "\n"
    shown = shown_on_a_terminal("-c", f"from agent.console import print_remarks\nprint_remarks([{remark!r}])")
    assert "\x1b[31m" in shown
    assert "    (p [b])" in shown


def test_quietness_ends(capsys: pytest.CaptureFixture[str]) -> None:
    """It ends nested or not, also by an exception."""
    with quietness(False), quietness(True), quietness(False):
        assert is_quiet()
        print("nothing")
    with pytest.raises(ValueError), quietness(True):  # noqa: PT011
        raise ValueError
    assert not is_quiet()
    print("something")
    assert capsys.readouterr().out == "something\n"


def test_plain_table_without_rows() -> None:
    """The headings alone."""
    assert plain_table([("a", "left"), ("b", "right")], []) == "a  b"
