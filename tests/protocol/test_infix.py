"""Tests of the reader and writer of infix GDL."""

from __future__ import annotations

from typing import Any

import pytest

from protocol import infix, kif
from protocol.terms import MAX_DEPTH, TextError, TextPosition


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("", ""),
        ("role(white)", "(role white)"),
        ("h(X) :- a(X) & ~b(X)", "(<= (h ?X) (a ?X) (not (b ?X)))"),
        ("p :- q", "(<= p q)"),
        ("p:-q&r", "(<= p q r)"),
        ("p :- a | b & c", "(<= p (or a (and b c)))"),
        ("p :- (a | b) & c", "(<= p (or a b) c)"),
        ("p :- a | b | c", "(<= p (or a b c))"),
        ("p :- ~(a | ~b)", "(<= p (not (or a (not b))))"),
        ("p :- true", "(<= p)"),
        ("p(X) :- distinct(X,Y)", "(<= (p ?X) (distinct ?X ?Y))"),
        ("p(_,_x,_)", "(p ?_#1 ?_x ?_#2)"),
        ("info()", "(info)"),
        ("[]", "()"),
        ("[a,[b, f(C)],1]", "(a (b (f ?C)) 1)"),
        ("a(b) % c(d)\nc", "(a b) c"),
        ("a(b). c(d) .\ne.", "(a b) (c d) e"),
        ("a(b), c(d)", "(a b) (c d)"),
        ("p :- a\nq :- b c", "(<= p a) (<= q b) c"),
        ("p :- a, not b. q :- \\+c, d(e,f).", "(<= p a (not b)) (<= q (not c) (d e f))"),
        ("p :- a, q :- not(b)", "(<= p a) (<= q (not b))"),
        ("p(not,notable)\nnot\nr", "(p not notable) not r"),
        ("play(tiltyard.x.1,nil)", "(play tiltyard.x.1 nil)"),
        ("Mark(1)", "(Mark 1)"),
    ],
)
def test_reads_infix(text: str, prefix: str) -> None:
    """Infix text gives the terms that its prefix form gives."""
    assert infix.read(text) == kif.read(prefix)


def test_strings_are_one_token() -> None:
    """A string is a constant that keeps its quotes, whatever it holds."""
    assert infix.read_one(r'say("a, (b) % \" c")') == ("say", r'"a, (b) % \" c"')


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("f(a\n", "a bracket is never closed", 1, 1),
        ("f(a,)", "a term expected", 1, 5),
        ("p :-\n", "a term expected after ':-'", 2, 1),
        ("p :- & b", "a term expected before '&'", 1, 6),
        ("a :- b :- c", "a second ':-' in one rule", 1, 8),
        ("f)", "')' without its opening", 1, 2),
        ("[a)", "']' expected, not ')'", 1, 3),
        ("f(a b)", "',' or ')' expected", 1, 5),
        ("()", "one expression expected in parentheses", 1, 1),
        ('f(\n "a)', "a string is never closed", 2, 2),
        ("(" * 100_000, f"nested deeper than {MAX_DEPTH} brackets", 1, MAX_DEPTH + 1),
        ("f(" * 100_000, f"nested deeper than {MAX_DEPTH} brackets", 1, 2 * MAX_DEPTH + 2),
        ("~" * 100_000 + "a", f"nested deeper than {MAX_DEPTH} terms", 1, 100_000 - MAX_DEPTH),
    ],
)
def test_errors_have_a_place(text: str, message: str, line: int, column: int) -> None:
    """What is no infix text is an error that says what and where, however deep it nests."""
    with pytest.raises(TextError) as caught:
        infix.read(text)
    assert (caught.value.message, caught.value.line, caught.value.column) == (message, line, column)


@pytest.mark.parametrize(
    ("prefix", "text"),
    [
        ("(mark 1 (f a))", "mark(1,f(a))"),
        ("(<= (h ?x) (a ?x) (not (b ?x)))", "h(X) :- a(X) & ~b(X)"),
        ("(<= p (or a (and b c)) d)", "p :- (a | b & c) & d"),
        ("(<= p (and a b))", "p :- a & b"),
        ("(<= p (not (or a b)))", "p :- ~(a | b)"),
        ("(<= p)", "p"),
        ("(p ?x ?X ?_#1)", "p(X_2,X,_)"),
        ("(p ?n++ ?1 ?_a)", "p(N__,V1,_a)"),
        ("(((a)) ())", "[[a()],[]]"),
    ],
)
def test_writes_infix(prefix: str, text: str) -> None:
    """Terms are written with the fewest parentheses that keep their structure, and variables in upper case."""
    assert infix.write(kif.read_one(prefix)) == text


def test_locates_terms_of_the_prefix_form() -> None:
    """A path into the prefix form leads to the place in the infix text."""
    text = "role(x)\nh(X) :-\n  a(X) & ~b(X)"
    assert infix.locate(text, (1, 1)) == TextPosition(2, 1)
    assert infix.locate(text, (1, 2)) == TextPosition(3, 3)
    assert infix.locate(text, (1, 3)) == TextPosition(3, 10)
    assert infix.locate(text, (1, 3, 1, 1)) == TextPosition(3, 13)
    with pytest.raises(LookupError):
        infix.locate(text, (1, 4))


def test_corpus_survives_infix(sheets: list[Any]) -> None:
    """Written as infix and read again, the corpus' sheets are the same text when written once more."""
    for sheet in sheets:
        text = infix.write_rulesheet(sheet.rules)
        assert infix.write_rulesheet(infix.read_rulesheet(text)) == text, sheet.name
