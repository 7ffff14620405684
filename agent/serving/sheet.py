"""What the server process knows of a match's rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from agent.playing.messages import MOST_SHOWN, PackedRules
from games.gdl.rules.surface import has_imperfect_information, named_moves
from games.machine import Term
from protocol.messages import Abort, Info, Message, Ping, Play, Preview, Start, Stop
from protocol.spelling import Spelling

MOST_TOKENS = 2000
"""Tokens of a message that are walked through in the event loop, in some milliseconds. All joint moves in use have
fewer."""

MOST_ROLES = 100
"""Most roles that are shown; games in use have up to ten."""


@dataclass(frozen=True, slots=True)
class MatchSheet:
    """A START, and what a walk through its rules tells."""

    start: Start
    """With the role as the rules spell it, and the rules packed: this process does without them."""
    spelling: Spelling
    imperfect: bool
    """Whether it is a game of imperfect information (GDL-II)."""
    size: int
    """Bytes of the rules."""
    named: tuple[Term, ...]
    """Some own moves that the rules name; they need not be legal."""
    roles: tuple[Term, ...]
    """The roles in the order of the rules; only our own if the rules do not state it plainly, or state too many."""

    @classmethod
    def of(cls, start: Start) -> MatchSheet:
        """Walks through the rules."""
        spelling = Spelling(start)
        start = replace(start, role=spelling.read(start.role))
        rules, packed = start.rules, PackedRules(start.rules)
        roles = tuple(rule[1] for rule in rules if isinstance(rule, tuple) and len(rule) == 2 and rule[0] == "role")
        return cls(
            replace(start, rules=cast("tuple[Term, ...]", packed)),
            spelling,
            has_imperfect_information(rules),
            packed.size,
            tuple(named_moves(rules, start.role)[:MOST_SHOWN]),
            roles if start.role in roles[:MOST_ROLES] and len(roles) <= MOST_ROLES else (start.role,),
        )


PreparedMessage: TypeAlias = Info | Ping | Preview | MatchSheet | Play | Stop | Abort
"""A message as the player takes it: with a START's rules walked through."""


def prepared(message: Message) -> PreparedMessage:
    """Returns a message as the player takes it."""
    return MatchSheet.of(message) if isinstance(message, Start) else message


def exceeds(term: Term, most: int) -> bool:
    """Returns whether a term has more parts than `most`: itself, its parts, and theirs."""
    stack = [term]
    while stack and most >= 0:
        part = stack.pop()
        most -= 1
        if not isinstance(part, str):
            stack.extend(part[: most + 1])
    return most < 0
