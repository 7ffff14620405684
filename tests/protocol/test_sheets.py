"""Tests of the reader of rulesheets in either syntax."""

from __future__ import annotations

from pathlib import Path

import pytest

from games import rulesheets
from protocol import infix, kif, sheets
from protocol.terms import TextError, decode


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("% who\nrole(a)\nterminal :- ~true(on) % ends\n", "(role a) (<= terminal (not (true on)))"),
        ("terminal :- open\n\n  role(a)", "(<= terminal open) (role a)"),
        ("rules of nim\r\n\r\nrole(a)\rrole(b)", "rules of nim (role a) (role b)"),
        ("role(a). p(X) :- q(X), not r(X),\n  \\+ s(X).", "(role a) (<= (p ?X) (q ?X) (not (r ?X)) (not (s ?X)))"),
        ('role("a b")', '(role "a%20b")'),
        ("; role(a)\n(role a) (p b)", "(role a) (p b)"),
        ("% comments(of another language)\n(role a)", "% comments (of another language) (role a)"),
        ("Copyright(c) 2010\n( role a)", "Copyright (c) 2010 (role a)"),
        ("(succ 1 2)(role a)\n(<= p\nq(r))", "(succ 1 2) (role a) (<= p q (r))"),
    ],
)
def test_syntax_is_told_by_how_lines_begin(text: str, prefix: str) -> None:
    """Infix, and Prolog's spelling of it, gives the terms of prefix; a line of a prefix sheet makes it all prefix."""
    assert sheets.read_rulesheet(text) == kif.read_rulesheet(prefix)


def test_no_prefix_sheet_is_taken_for_infix(corpus: Path) -> None:
    """Nor one in other lines; and each sheet written in infix is."""
    texts = [rulesheets.text(name) for name in rulesheets.names()]
    texts += [decode(path.read_bytes()) for path in sorted(corpus.glob("*.kif"))[::5]]
    for text in texts:
        rules = kif.read_rulesheet(text)
        for prefix in (text, kif.write_rulesheet(rules), kif.write(rules)[1:-1]):
            assert not sheets.is_infix(prefix), prefix[:200]
        assert sheets.is_infix(infix.write_rulesheet(rules)), text[:200]


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("(START m.1 a\n ((role a)\n (init b)) 30 5)", "in a START message", 2, 2),
        ("POST / HTTP/1.0\n\n(start m.1 a ((role a)) 30 5)", "in a START message", 3, 14),
        ("start m.1 a ((role a)) 30 5", "in a START message", 1, 13),
        ("start(m1,a,\n[role(a),init(b)],30,5)", "in a START message", 2, 1),
        ("((role a)\n (init b))", "in one more pair of brackets", 1, 1),
        ("[role(a),init(b)]", "in one more pair of brackets", 1, 1),
        ("(role a)\n(&lt;= terminal\n (true b))", "`&lt;` is how the source of a web page spells `<`", 2, 2),
        ("role(a)\nterminal :- b &amp; c", "`&amp;` is how the source of a web page spells `&`", 2, 15),
        ("role(a)\nlegal(a,b", "a bracket is never closed", 2, 1),
    ],
)
def test_rules_within_something_else_are_one_error(text: str, message: str, line: int, column: int) -> None:
    """The text of a whole message or of a web page's source is named as such, at the place to look at."""
    with pytest.raises(TextError) as caught:
        sheets.read_rulesheet(text)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)


def test_words_have_a_place_in_either_syntax() -> None:
    """A word is found as a word, not in a comment, nor in another word."""
    prefix = "(role a)\n(<= (p ?xy) ; ?x\n (q ?x))"
    assert prefix[sheets.find_word(prefix, (1,), "?x") :] == "?x))"
    text = "role(a)\np(XY) :- % X\n q(b,X)"
    assert text[sheets.find_word(text, (1,), "?X") :] == "X)"
    assert text[sheets.find_word(text, (1,), "?Z") :] == text[text.index("p(XY)") :]
