"""`ggp-agent validate`: remarks on many sheets, exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.checking import validate as module
from agent.checking.validate import validate
from agent.cli import main
from agent.commands.options import DIFFERENT, OK, WRONG_INPUT
from agent.sheet import examine_text
from protocol import infix, kif
from protocol.terms import decode

GOOD = """(role a)
(init (f 1))
(legal a go)
(<= (next (f 2)) (does a go))
(<= terminal (true (f 2)))
(goal a 100)
"""


def sheet(folder: Path, name: str, text: str) -> Path:
    """Writes a sheet to a file."""
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def test_folder_of_sheets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Remarks on all sheets, sub-folders included, show line, column and caret; the worst sets the exit status."""
    good = sheet(tmp_path, "good.kif", GOOD)
    odd = sheet(tmp_path, "odd.gdl", GOOD + "; lost\n(<= (next (f 3)) (does a go) (lost ?x))\n")
    wrong = sheet(tmp_path, "below/wrong.kif", GOOD + "(<= (p ?x) (true (f 1)))\n(<= (next ?x) (p ?x))\n")
    open_ended = sheet(tmp_path, "below/open.kif", GOOD + "  (init (f 1)\n")
    result = tmp_path / "result.json"
    assert main(["validate", str(good), "--strict"]) == OK
    assert main(["validate", str(odd)]) == OK
    assert main(["validate", str(odd), "--strict"]) == DIFFERENT
    capsys.readouterr()
    assert main(["validate", str(tmp_path), "--json", str(result)]) == DIFFERENT
    lines = capsys.readouterr().out.splitlines()
    at = lines.index(f"{odd}:8:30: warning: `lost` with 1 arguments is never true: no rule concludes it")
    assert lines[at + 1 : at + 3] == [
        "    (<= (next (f 3)) (does a go) (lost ?x))",
        "                                 ^",
    ]
    assert any(line.startswith(f"{open_ended}:7:3: error: ") for line in lines)
    assert lines[-1] == "4 rulesheets: 1 well, 1 with warnings only, 2 with errors"
    sheets = {entry["file"]: entry for entry in json.loads(result.read_text())["sheets"]}
    assert set(sheets) == {str(good), str(odd), str(wrong), str(open_ended)}
    assert sheets[str(good)]["roles"] == ["a"]
    assert sheets[str(open_ended)]["remarks"][0]["line"] == 7


@pytest.mark.parametrize(
    ("text", "severity", "message"),
    [
        (GOOD.replace("(legal a go)", "(<= (legal a go) (true (f 9)))"), "error", "a has no legal move after step 0"),
        (GOOD.replace("(goal a 100)", "(<= (goal a 100) (true (f 1)))"), "error", "a has no goal value at the end"),
        (
            GOOD + "(goal a 0) (<= (goal a 30) (true (f 1)))",
            "warning",
            "a has several goal values at the end, 0 and 100: it gets the greatest",
        ),
        (GOOD.replace("(true (f 2))", "(true (f 3))"), "warning", "is not over after"),
        (
            GOOD.replace("(goal a 100)", "(worth 150) (<= (goal a ?n) (worth ?n))"),
            "warning",
            "a gets 150, which is not",
        ),
    ],
)
def test_random_matches_show_more(tmp_path: Path, text: str, severity: str, message: str) -> None:
    """Random matches show defects that no check of the rules can; each kind is reported once."""
    file = sheet(tmp_path, "sheet.kif", text)
    (before,) = validate([file], matches=0, seed=1)
    (verdict,) = validate([file], matches=3, seed=1)
    shown = [remark for remark in verdict.remarks if remark not in before.remarks]
    assert [(remark.severity, message in remark.message) for remark in shown] == [(severity, True)]
    assert "random match 1" in shown[0].text


def test_goals_beyond_the_usual_range_are_told_once(tmp_path: Path) -> None:
    """At the rule that names the value; that is no defect of the matches."""
    (verdict,) = validate([sheet(tmp_path, "sheet.kif", GOOD.replace("(goal a 100)", "(goal a 150)"))], 3, seed=1)
    assert [remark.message for remark in verdict.remarks] == [
        "150 is not from 0 to 100, as goals should be: (goal a 150)"
    ]


def test_does_of_a_state_is_an_error_of_authors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`does` below `terminal` is an error with line and caret, here and for commands that play own sheets."""
    file = sheet(tmp_path, "sheet.kif", GOOD + "(<= terminal (did stop))\n(<= (did ?x) (does a ?x))\n")
    for command in (["validate"], ["inspect"]):
        assert main([*command, str(file)]) in (DIFFERENT, WRONG_INPUT)
        told = capsys.readouterr()
        shown = (told.out + told.err).splitlines()
        at = next(i for i, line in enumerate(shown) if ":7:15: error: `did` depends on `does`" in line)
        assert shown[at + 1 : at + 3] == ["    (<= terminal (did stop))", "                  ^"]


@pytest.mark.parametrize(
    "content", [GOOD.encode("utf-16"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR(\xff) \xfe", b"PNG (IHDR \x08) (\x06 ("]
)
def test_what_is_no_text_is_named(tmp_path: Path, content: bytes) -> None:
    """A file that is no UTF-8 text is one error that says so, not many about its words; on the page too, whose
    text field leaves NUL bytes out."""
    file = tmp_path / "sheet.kif"
    file.write_bytes(content)
    (verdict,) = validate([file], matches=0, seed=1)
    _, pasted = examine_text(file, decode(content))
    for remarks in (verdict.remarks, pasted):
        assert [remark.message for remark in remarks] == ["this is no text in UTF-8; if it is UTF-16, save it as UTF-8"]


def test_infix_is_read_and_has_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sheet in infix syntax is played like its prefix form; what is odd has its line, column and caret."""
    rules = infix.write_rulesheet(kif.read_rulesheet(GOOD))
    (verdict,) = validate([sheet(tmp_path, "good.gdl", rules)], matches=3, seed=1)
    assert (verdict.roles, verdict.matches, verdict.remarks) == (("a",), 3, ())
    odd = sheet(tmp_path, "odd.gdl", "% (role a)\n" + rules + "% who\nlegal(W,stop) :-\n  true(f(9)) % W\n")
    assert main(["validate", str(odd)]) == OK
    lines = capsys.readouterr().out.splitlines()
    for place, excerpt, caret in ((":10:3: ", "      true(f(9)) % W", 6), (":9:7: ", "    legal(W,stop) :-", 10)):
        at = next(i for i, line in enumerate(lines) if line.startswith(f"{odd}{place}warning: "))
        assert lines[at + 1 : at + 3] == [excerpt, " " * caret + "^"]


@pytest.mark.parametrize(("invisible", "shown"), [("\u200b", "\\u200b"), ("\ufeff", "\\ufeff")])
def test_invisible_characters_of_names_are_shown(tmp_path: Path, invisible: str, shown: str) -> None:
    """A role's name that something invisible clings to is no role; both remarks make it visible."""
    (verdict,) = validate([sheet(tmp_path, "sheet.kif", GOOD + f"(goal a{invisible} 0)")], matches=0, seed=1)
    assert [remark.message for remark in verdict.remarks] == [
        f"`a{shown}` holds an invisible character",
        f"`a{shown}` is no role; did you mean `a`?",
    ]


@pytest.mark.parametrize("mark", ["\x0c", "\x85", "\u2028"])
def test_the_line_that_is_shown_is_the_line_that_is_counted(tmp_path: Path, mark: str) -> None:
    """Characters that are no line ends of rulesheets, such as a form feed, move no excerpt."""
    (verdict,) = validate([sheet(tmp_path, "sheet.kif", f"; a{mark}b\n{GOOD}(next nought)\n(f")], matches=0, seed=1)
    assert verdict.remarks[0].text.splitlines()[1:] == ["    (f", "    ^"]


def test_good_sheet_is_played(tmp_path: Path) -> None:
    """A good sheet has no remarks after all matches."""
    (verdict,) = validate([sheet(tmp_path, "sheet.kif", GOOD)], matches=3, seed=1)
    assert verdict.remarks == ()
    assert verdict.matches == 3


def test_sheet_that_explodes_costs_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sheet that explodes is an error; the others are checked."""
    endless = GOOD + "(<= (big (s ?x)) (big ?x)) (big 0) (<= (next (f 4)) (big 1) (does a go))\n"
    monkeypatch.setattr(module, "SHEET_SECONDS", 2)
    files = [sheet(tmp_path, "endless.kif", endless + "(<= (role ?x) (big ?x))"), sheet(tmp_path, "good.kif", GOOD)]
    first, second = validate(files, matches=0, seed=1)
    assert first.count("error") == 1
    assert second.remarks == ()


def test_nothing_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty folder and an unknown name are wrong input."""
    assert main(["validate", str(tmp_path)]) == WRONG_INPUT
    assert "no rulesheets in this folder" in capsys.readouterr().err
    assert main(["validate", "nothing"]) == WRONG_INPUT
    assert "no such file" in capsys.readouterr().err


@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_a_byte_order_mark_moves_no_place(start: str) -> None:
    """Text that is pasted with one has its remarks in the same lines."""
    _, (remark,) = examine_text(Path("sheet"), start + GOOD + "(<= (next (f 3)) (true (f 9)))")
    assert (remark.position, "is never true" in remark.message) == ((7, 18), True)
