"""Output for people, on terminals and elsewhere."""

from __future__ import annotations

import io
import sys

import pytest

from agent.console import is_quiet, open_streams, print_remarks, quietness
from tests.agent.terminal import shown_on_a_terminal


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


def test_what_a_console_lacks_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of games and files have characters that it cannot show, and halves of such."""
    for encoding, shown in (("ascii", b"caf\\xe9 \\udce9\n"), ("utf-8", b"caf\xc3\xa9 \\udce9\n")):
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
        open_streams()
        print("caf\xe9 \udce9", flush=True)
        assert written.getvalue() == shown
