"""Tokens as the rules of a match spell them: some managers fold the case of what they send, but not of the rules.

Constants in parentheses are read without them, as the rules are, and written as the rules have them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from protocol.constants import bare, listed
from protocol.terms import Term, map_tokens
from protocol.vocabulary import Play, Start, Stop

Told = TypeVar("Told", Play, Stop)


class Spelling:
    """The tokens of one match's rules."""

    def __init__(self, start: Start) -> None:
        self._listed = start.listed
        # Garbage collection does not walk through a dictionary of texts, as it does through a set.
        self._tokens: dict[str, None] = {}
        stack: list[Term] = [start.rules]
        while stack:
            term = stack.pop()
            if isinstance(term, str):
                self._tokens[term] = None
            else:
                stack.extend(term)
        self._folded: dict[str, str | None] = {}
        """Tokens by their lower case; None where several differ by case alone."""
        for token in self._tokens:
            low = token.lower()
            self._folded[low] = None if low in self._folded else token

    def read(self, term: Term) -> Term:
        """The term with each token that the rules lack replaced by the only one that differs by case alone."""
        return bare(map_tokens(self._token, term))

    def write(self, term: Term) -> Term:
        """A term of the rules as they spell it."""
        return listed(term, self._listed)

    def read_moves(self, message: Told) -> Told:
        """A PLAY or STOP with moves and percepts as the rules spell them."""
        own = None if message.last_move is None else self.read(message.last_move)
        return replace(message, moves=self._all(message.moves), last_move=own, percepts=self._all(message.percepts))

    def _all(self, terms: tuple[Term, ...] | None) -> tuple[Term, ...] | None:
        return None if terms is None else tuple(map(self.read, terms))

    def _token(self, token: str) -> str:
        return token if token in self._tokens else self._folded.get(token.lower()) or token
