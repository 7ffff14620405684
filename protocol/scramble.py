"""Scramblers: seeded renamings of a game's tokens, by which managers keep players from knowing games by their words.

A scrambler maps tokens to generated words, one to one, for the whole match. The order of rules and literals stays.

    ggp-base    keeps GDL's keywords but `sees`, the role `random`, `_`, integers and the operators; everything else
                becomes a lower-case word, `noop` and `nil` too; variables have words of their own
    dresden     keeps GDL's keywords but `base`, `input` and `sees`, numbers and tokens of symbols alone; other tokens
                become upper-case words, `random` and `noop` too; `?x` and `x` share one word
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from protocol.terms import Term, map_tokens

ScrambleStyle: TypeAlias = Literal["none", "upper", "ggp-base", "dresden"]

_KEPT_BY_BOTH = frozenset(
    ("init", "true", "next", "role", "does", "goal", "legal", "terminal", "<=", "not", "or", "distinct")
)
_KEPT_BY_GGP_BASE = _KEPT_BY_BOTH | {"base", "input", "random", "_"}
_KEPT_BY_DRESDEN = _KEPT_BY_BOTH | {"and"}
_RESERVED = _KEPT_BY_GGP_BASE | _KEPT_BY_DRESDEN | {"sees", "nil"}
"""Words never generated."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


def make_scrambler(style: ScrambleStyle, seed: int = 0) -> Scrambler:
    """The scrambler of one match. `upper` changes case only, as Dresden does in unscrambled matches."""
    return _STYLES[style](seed)


class Scrambler:
    """A one-to-one renaming of tokens, extended as tokens come; the base class renames nothing."""

    def __init__(self, seed: int) -> None:
        self._words = _words(random.Random(seed))
        self._forward: dict[str, str] = {}
        self._backward: dict[str, str] = {}
        self._kept: set[str] = set()

    def keep(self, token: str) -> None:
        """Keeps a token, but for its case, that this style would replace. Before it is met."""
        self._kept.add(token)

    def scramble(self, term: Term) -> Term:
        """The term as players see it."""
        return map_tokens(self._scramble_token, term)

    def unscramble(self, term: Term) -> Term:
        """The inverse of `scramble`; unknown tokens stay as they are."""
        return map_tokens(lambda token: self._backward.get(token, token), term)

    def _scramble_token(self, token: str) -> str:
        if token not in self._forward:
            self._rename(token)
        return self._forward[token]

    def _rename(self, token: str) -> None:
        """Choose the word for a new token."""
        self._pair(token, token)

    def _pair(self, token: str, spelling: str) -> None:
        self._forward[token] = spelling
        self._backward.setdefault(spelling, token)


class _UpperCaser(Scrambler):
    """Upper case; of two tokens that differ in case only, the second gets a word."""

    def _rename(self, token: str) -> None:
        spelling = token.upper()
        if spelling in self._backward and token.lower() not in _RESERVED:
            spelling = ("?" if token.startswith("?") else "") + next(self._words).upper()
        self._pair(token, spelling)


class _GgpBaseScrambler(Scrambler):
    """Lower-case words; variables have their own."""

    def _rename(self, token: str) -> None:
        if token in _KEPT_BY_GGP_BASE or token in self._kept or _INTEGER.fullmatch(token):
            self._pair(token, token)
        elif token.startswith("?"):
            self._pair(token, "?" + next(self._words))
        else:
            self._pair(token, next(self._words))


class _DresdenScrambler(Scrambler):
    """Upper-case words; a variable shares the word of the constant of its name."""

    def _rename(self, token: str) -> None:
        name = token.removeprefix("?")
        keyword = name.lower() in _KEPT_BY_DRESDEN or name in self._kept
        kept = keyword or _NUMBER.fullmatch(name) or not _LETTER_OR_DIGIT.search(name)
        word = (name if kept else next(self._words)).upper()
        self._pair(name, word)
        self._pair("?" + name, "?" + word)


_STYLES: dict[ScrambleStyle, type[Scrambler]] = {
    "none": Scrambler,
    "upper": _UpperCaser,
    "ggp-base": _GgpBaseScrambler,
    "dresden": _DresdenScrambler,
}


def _words(rng: random.Random) -> Iterator[str]:
    """Endless distinct lower-case words, pronounceable."""
    used = set(_RESERVED)
    while True:
        syllables = [rng.choice("bdfghjklmnprstvz") + rng.choice("aeiou") for _ in range(rng.randint(2, 4))]
        word = "".join(syllables) + rng.choice(("", "", "l", "n", "r", "s", "t"))
        if word not in used:
            used.add(word)
            yield word
