"""Tests of the reader and writer of prefix GDL."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from protocol import kif
from protocol.terms import MAX_DEPTH, TextError, TextPosition


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ()),
        ("a", ("a",)),
        ("(mark 3 4) noop", (("mark", "3", "4"), "noop")),
        ("()", ((),)),
        ("(a(b)c)", (("a", ("b",), "c"),)),
        ("(a\t?x\r\n b)", (("a", "?x", "b"),)),
        ("(++ -- + - < > ?n++ speed+ -12)", (("++", "--", "+", "-", "<", ">", "?n++", "speed+", "-12"),)),
        ("(Mark mark MARK)", (("Mark", "mark", "MARK"),)),
        ("; (only a comment", ()),
        ("(a ; (b ))) \n c)", (("a", "c"),)),
        ("(a b;glued)\n c)", (("a", "b", "c"),)),
        ("(a ;one\r\n;two\r b)", (("a", "b"),)),
        ('(a "x" |y|)', (("a", '"x"', "|y|"),)),
        ("\ufeff(a)", (("a",),)),
    ],
)
def test_reads_terms(text: str, terms: tuple[object, ...]) -> None:
    """Tokens are whatever is no blank, parenthesis or comment, and keep their spelling."""
    assert kif.read(text) == terms
    assert kif.read(text.encode()) == terms


def test_reads_any_bytes() -> None:
    """Bytes that are no UTF-8 are read as Latin-1, never refused."""
    assert kif.read(b"(a \xe9\xff) ; \x80") == (("a", "\xe9\xff"),)


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("(a\n (b c", "'(' is never closed", 2, 2),
        ("(a b", "'(' is never closed", 1, 1),
        ("(a) \r\n )", "')' without its '('", 2, 2),
        ("; ((\r\r  )", "')' without its '('", 3, 3),
        ("(" * 100_000, f"nested deeper than {MAX_DEPTH} parentheses", 1, MAX_DEPTH + 1),
        ("(" * 100_000 + ")" * 100_000, f"nested deeper than {MAX_DEPTH} parentheses", 1, MAX_DEPTH + 1),
    ],
)
def test_errors_have_a_place(text: str, message: str, line: int, column: int) -> None:
    """Broken parentheses and bottomless nesting are errors that say what and where."""
    with pytest.raises(TextError) as caught:
        kif.read(text)
    assert (caught.value.message, caught.value.line, caught.value.column) == (message, line, column)
    assert str(caught.value) == f"{message} (line {line}, column {column})"
    assert pickle.loads(pickle.dumps(caught.value)).position == (line, column)


def test_deepest_term_is_usable() -> None:
    """A term as deep as the reader allows can be hashed, shown, pickled and written."""
    text = "(" * MAX_DEPTH + ")" * MAX_DEPTH
    (term,) = kif.read(text)
    assert hash(term) == hash(pickle.loads(pickle.dumps(term)))
    assert repr(term)
    assert kif.write(term) == text


def test_writes_what_no_reader_made() -> None:
    """The writer does not recurse, so that it takes terms of any depth."""
    term: tuple[object, ...] = ("a",)
    for _ in range(5_000):
        term = ("b", term, "c")
    assert kif.write(term).startswith("(b (b (b ")


@pytest.mark.parametrize("text", ["a", "()", "(a)", "(a (b) c)", "((a b) (c))", "(a () (()))"])
def test_writes_terms(text: str) -> None:
    """Written terms have single blanks between their parts and none at parentheses."""
    assert kif.write(kif.read_one(text)) == text


@pytest.mark.parametrize("text", ["", "; nothing", "a b", "(a) (b)"])
def test_read_one_wants_one(text: str) -> None:
    """`read_one` refuses a text of no or of several expressions."""
    with pytest.raises(TextError):
        kif.read_one(text)


def test_keywords_fold_where_they_are_relations() -> None:
    """Keywords become lower case as relation or operator; arguments and other names keep their spelling."""
    sheet = """(ROLE Next) (<= TERMINAL a)
        (<= (NEXT (Next ?x)) (NOT (TRUE (ROLE ?x))) (Or TERMINAL (Goal ?x GOAL)) (index ?x))"""
    assert "\n".join(map(kif.write, kif.read_rulesheet(sheet))) == (
        "(role Next)\n"
        "(<= terminal a)\n"
        "(<= (next (Next ?x)) (not (true (ROLE ?x))) (or terminal (goal ?x GOAL)) (index ?x))"
    )


@pytest.mark.parametrize(
    ("path", "position"),
    [
        ((), (1, 1)),
        ((0,), (1, 1)),
        ((0, 1), (1, 4)),
        ((1,), (3, 2)),
        ((1, 0), (3, 3)),
        ((1, 1), (4, 2)),
        ((1, 1, 2), (4, 9)),
        ((1, 2), (5, 1)),
        ((2,), (5, 4)),
    ],
)
def test_locates_terms(path: tuple[int, ...], position: tuple[int, int]) -> None:
    """A path of indices leads to line and column, past comments and over all line ends."""
    text = "(a b) ; ((c\r\n;\n (d;(\r (e (f) g)\nh) i"
    assert kif.locate(text, path) == TextPosition(*position)


@pytest.mark.parametrize("path", [(3,), (0, 2), (0, 1, 0), (2, 0)])
def test_locating_nothing_is_an_error(path: tuple[int, ...]) -> None:
    """A path that leads nowhere is a `LookupError`."""
    with pytest.raises(LookupError):
        kif.locate("(a b) (c) d", path)


def test_corpus_round_trips(corpus: Path) -> None:
    """Every rulesheet of the corpus reads, writes to the same terms again, and each rule is found in its text."""
    sheets = sorted(corpus.glob("*.kif"))
    assert len(sheets) >= 100
    for sheet in sheets:
        text = sheet.read_bytes()
        terms = kif.read(text)
        assert kif.read(kif.write_rulesheet(terms)) == terms, sheet.name
        decoded = kif.decode(text)
        for index in range(0, len(terms), 101):
            start, end = kif.span(decoded, (index,))
            assert kif.read_one(decoded[start:end]) == terms[index], sheet.name
