"""Tests of the scramblers."""

from __future__ import annotations

from typing import Any

import pytest

from protocol import kif
from protocol.scramble import ScrambleStyle, make_scrambler
from protocol.terms import Term, map_tokens

STYLES: tuple[ScrambleStyle, ...] = ("none", "upper", "ggp-base", "dresden")
SCRAMBLING: tuple[ScrambleStyle, ...] = ("ggp-base", "dresden")


@pytest.mark.parametrize("style", STYLES)
def test_corpus_comes_back(sheets: list[Any], style: ScrambleStyle) -> None:
    """Unscrambling gives sheets of the corpus back, so the renaming is one to one."""
    for sheet in sheets:
        scrambler = make_scrambler(style, seed=7)
        assert scrambler.unscramble(scrambler.scramble(sheet.rules)) == sheet.rules, sheet.name


@pytest.mark.parametrize("style", STYLES)
def test_spelling_is_settled_once(style: ScrambleStyle) -> None:
    """A token has one spelling for the whole match, and the same seed gives the same one again."""
    scrambler = make_scrambler(style, seed=3)
    term = kif.read_one("(mark ?x one (two ?y one))")
    assert scrambler.scramble(term) == scrambler.scramble(term)
    assert make_scrambler(style, seed=3).scramble(term) == scrambler.scramble(term)
    assert scrambler.scramble("one") == scrambler.scramble(term)[2]


@pytest.mark.parametrize("style", SCRAMBLING)
def test_seeds_differ(style: ScrambleStyle) -> None:
    """Another seed gives other words."""
    term = kif.read_one("(mark one two)")
    assert make_scrambler(style, 1).scramble(term) != make_scrambler(style, 2).scramble(term)


def test_ggp_base_keeps_its_table() -> None:
    """ggp-base keeps keywords and integers; `sees`, `noop` and `nil` become lower-case words like everything else."""
    scrambler = make_scrambler("ggp-base")
    kept = kif.read("init true next role does goal legal terminal base input random _ <= not or distinct 0 100 -5 +3")
    assert scrambler.scramble(kept) == kept
    for token in ("sees", "noop", "nil", "cell", "++", "1a", "1.5", "TRUE", "INIT"):
        word = scrambler.scramble(token)
        assert isinstance(word, str)
        assert word != token
        assert word.isalpha()
        assert word.islower()


def test_ggp_base_gives_variables_their_own_words() -> None:
    """In ggp-base `?x` and `x` have nothing in common, and a variable stays one."""
    scrambler = make_scrambler("ggp-base")
    variable, constant = scrambler.scramble("?x"), scrambler.scramble("x")
    assert isinstance(variable, str)
    assert variable.startswith("?")
    assert variable != f"?{constant}"


def test_dresden_keeps_its_table() -> None:
    """Dresden keeps keywords (in upper case), numbers and symbols; other words become upper case, `base` among them."""
    scrambler = make_scrambler("dresden")
    kept = kif.read("role true init next legal goal terminal does or and not <= distinct 7 -1 1.5 ++ < ?")
    assert scrambler.scramble(kept) == map_tokens(str.upper, kept)
    for token in ("base", "input", "sees", "random", "noop", "cell", "nextRank", "a++"):
        word = scrambler.scramble(token)
        assert isinstance(word, str)
        assert word.lower() != token.lower()
        assert word.isalpha()
        assert word.isupper()


def test_dresden_shares_words_with_variables() -> None:
    """In Dresden's style `?x` is the word of `x` with a question mark."""
    scrambler = make_scrambler("dresden")
    assert scrambler.scramble("?x") == f"?{scrambler.scramble('x')}"
    assert scrambler.unscramble(scrambler.scramble(("?x", "x"))) == ("?x", "x")


def test_upper_keeps_apart_what_differs_in_case() -> None:
    """Tokens that differ in case only stay different; keywords do not matter."""
    scrambler = make_scrambler("upper")
    term = ("mark", "nextRank", "nextrank", "NEXTRANK", "?x", "?X", "3")
    changed = scrambler.scramble(term)
    assert changed[:2] == ("MARK", "NEXTRANK")
    assert len(set(changed)) == len(term)
    assert scrambler.unscramble(changed) == term


def test_unknown_tokens_stay() -> None:
    """A reply may hold tokens that were never sent; they come back as they are."""
    scrambler = make_scrambler("dresden")
    assert scrambler.unscramble(("Hello", "there")) == ("Hello", "there")


@pytest.mark.parametrize(
    ("style", "plain", "scrambled"),
    [("ggp-base", "ggp-base", "ggp-base-scrambled"), ("dresden", "dresden", "dresden-scrambled")],
)
def test_renames_as_the_real_scramblers(recorded: list[Any], style: ScrambleStyle, plain: str, scrambled: str) -> None:
    """Of the sheet that was recorded plain and scrambled, ours keeps and replaces the same tokens, in the same way."""
    bodies = {request.source: request.body for request in recorded if request.kind == "START"}
    before, after = kif.read_one(bodies[plain])[3], kif.read_one(bodies[scrambled])[3]
    ours = make_scrambler(style).scramble(before)
    pairs = set(zip(tokens(ours), tokens(after), strict=True))
    assert len(pairs) == len(set(tokens(ours))) == len(set(tokens(after))) > 20
    for token, our, their in zip(tokens(before), tokens(ours), tokens(after), strict=True):
        assert (our == token) == (their == token)
        assert our[0] == their[0] == "?" or "?" not in our + their
        assert our.isupper() == their.isupper()


def tokens(term: Term) -> list[str]:
    """The tokens of a term, in order."""
    found: list[str] = []
    map_tokens(lambda token: found.append(token) or token, term)
    return found
