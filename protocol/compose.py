"""Writes messages as managers do: the other side of `protocol.messages`.

The styles differ in spacing, keywords and headers, as the real managers do. Names are written unchanged; for managers
that scramble or upper-case them, see `protocol.scramble`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from protocol import infix, kif
from protocol.messages import Abort, Info, Message, Ping, Preview, Start
from protocol.terms import Term

_Write: TypeAlias = Callable[[Term], str]
_WriteList: TypeAlias = Callable[[Sequence[Term]], str]

Style: TypeAlias = Literal["ggp-base", "dresden", "infix"]


def compose(message: Message, style: Style = "ggp-base") -> str:
    """The text of a message, in the style of one manager."""
    name = type(message).__name__
    if style == "infix":
        arguments = _arguments(message, infix.write, infix.write_list)
        return f"{name.lower()}({','.join(arguments)})"
    if style == "dresden":
        return f"({' '.join((name.upper(), *_arguments(message, kif.write, _dresden_list)))})"
    return f"( {' '.join((name.upper(), *_arguments(message, _spaced, _ggp_base_list)))} )"


def headers(style: Style, receiver: str) -> dict[str, str]:
    """The request headers of one manager; `receiver` is the player's name."""
    sender = "Gamecontroller" if style == "dresden" else "GAMESERVER"
    return {"Accept": "text/delim", "Sender": sender, "Receiver": receiver, "Content-Type": "text/acl"}


def _arguments(message: Message, write: _Write, write_list: _WriteList) -> list[str]:
    if isinstance(message, Info):
        return []
    if isinstance(message, Ping):
        return [] if message.id is None else [message.id]
    if isinstance(message, Preview):
        return [write_list(message.rules), str(message.clock)]
    if isinstance(message, Start):
        clocks = (str(message.start_clock), str(message.play_clock))
        return [message.match_id, write(message.role), write_list(message.rules), *clocks]
    if isinstance(message, Abort):
        return [message.match_id]
    if message.turn is None:
        return [message.match_id, "NIL" if message.moves is None else write_list(message.moves)]
    last_move = "NIL" if message.last_move is None else write(message.last_move)
    return [message.match_id, str(message.turn), last_move, write_list(message.percepts or ())]


def _spaced(term: Term) -> str:
    return kif.write(term).replace("(", "( ").replace(")", " )")


def _ggp_base_list(terms: Sequence[Term]) -> str:
    return f"({' '.join(map(_spaced, terms))} )"


def _dresden_list(terms: Sequence[Term]) -> str:
    return f"({' '.join(map(kif.write, terms))})"
