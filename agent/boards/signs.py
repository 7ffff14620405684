"""Signs for words: numbers, pieces of chess, noughts and crosses, else letters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from agent.boards.rulesheet import is_integer

Glyph: TypeAlias = Literal["stone", "letter", "chess", "cross", "ring", "text"]

CHESS = {
    "king": "\u265a",
    "queen": "\u265b",
    "rook": "\u265c",
    "bishop": "\u265d",
    "knight": "\u265e",
    "pawn": "\u265f",
}
CHESS_LETTERS = {"k": "king", "q": "queen", "r": "rook", "b": "bishop", "n": "knight", "p": "pawn"}
ENOUGH_CHESS = 3
"""Number of different chess letters from which on single letters mean chess pieces."""
CROSSES, RINGS = frozenset(("x", "ex", "ecks", "cross")), frozenset(("o", "oh", "nought", "ring"))

WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
"""Words in a constant such as `whiteKing` or `p3`."""


def mark_of(owner: str) -> tuple[Glyph, str]:
    word = owner.lower()
    if word in CROSSES:
        return "cross", ""
    if word in RINGS:
        return "ring", ""
    return "stone", ""


def all_numbers(words: Iterable[str]) -> bool:
    return all(map(is_integer, words))


def sign_words(words: Sequence[str]) -> dict[str, tuple[Glyph, str]]:
    """Returns a sign for each word: numbers as they are, chess pieces as symbols, else as few letters as tell all
    apart."""
    if all_numbers(words):
        return {word: ("text", word) for word in words}
    if len(words) >= 5 and (stem := _common_start(words)) and all_numbers(word[stem:] for word in words):
        return {word: ("text", word[stem:]) for word in words}
    low = {word: word.lower().strip("_-") for word in words}
    letters = {text for text in low.values() if text in CHESS_LETTERS}
    chess = {word: CHESS[text] for word, text in low.items() if text in CHESS}
    if not chess and len(letters) >= ENOUGH_CHESS and len(letters) == len(words):
        chess = {word: CHESS[CHESS_LETTERS[low[word]]] for word in words}
    others = [word for word in words if word not in chess]
    result: dict[str, tuple[Glyph, str]] = {word: ("chess", symbol) for word, symbol in chess.items()}
    for word in others:
        if mark_of(word)[0] != "stone":
            result[word] = mark_of(word)
        elif is_integer(word):
            result[word] = "text", word
        else:
            result[word] = "letter", short(word, others)
    return result


def short(word: str, words: Iterable[str]) -> str:
    """Returns a word's first letter, and where others share it, its first different ones; at most four letters."""
    alike = [other for other in words if other != word and other[:1].lower() == word[:1].lower()]
    stem = _common_start([word, *alike])
    cuts: list[Callable[[str], str]] = [
        lambda it: it[:1].upper(),
        lambda it: "".join(part if part.isdigit() else part[0] for part in WORDS.findall(it) or [it]).upper(),
        lambda it: it[stem:] if len(alike) >= 3 else "",
        *(lambda it, length=length: it[:1].upper() + it[1:length].lower() for length in (2, 3, 4)),
    ]
    signs = (cut(word) for cut in cuts if cut(word) not in map(cut, alike))
    return next((sign for sign in signs if 0 < len(sign) <= 4), word[:1].upper() + word[stem:][:3].lower())


def _common_start(words: Sequence[str]) -> int:
    shortest = min(words, key=len)
    for index, character in enumerate(shortest):
        if any(word[index] != character for word in words):
            return index
    return len(shortest)
