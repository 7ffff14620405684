"""Terms as text in our own files, which may have been damaged: each is read again as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from urllib.parse import quote, unquote

from agent import bounded_json
from games.machine import Term
from protocol.kif import read_one, write
from protocol.terms import MAX_DEPTH, map_tokens

_SPECIAL = re.compile(r"[\s();%]")


class DamagedError(ValueError):
    """Data that nobody wrote like this; the text says in one line what is wrong with them."""


@contextmanager
def reading() -> Iterator[None]:
    """Raises `DamagedError` for whatever wrong data cause within the context."""
    try:
        yield
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        told = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise DamagedError(" ".join(told[:200].split())) from None


def spell(term: Term) -> str:
    """Returns a term as text; what prefix syntax would split in atoms of quoted infix strings is percent-encoded."""
    text = write(term)
    if '"' not in text and "%" not in text:
        return text
    return write(map_tokens(lambda atom: _SPECIAL.sub(lambda found: quote(found[0], safe=""), atom), term))


def spell_all(terms: Iterable[Term]) -> list[str]:
    """Returns terms as texts."""
    return list(map(spell, terms))


def read_term(data: object) -> Term:
    """Reads a term. Raises `ValueError`."""
    text = read_text(data)
    return map_tokens(_decoded, read_one(text)) if "%" in text else read_one(text)


def _decoded(atom: str) -> str:
    text = unquote(atom)
    if '"' not in text and _SPECIAL.search(text.replace("%", "")):
        raise ValueError(f"{atom[:40]} stands for no token")
    return text


def read_terms(data: object) -> tuple[Term, ...]:
    """Reads a list of terms. Raises `ValueError`."""
    if not isinstance(data, list):
        raise ValueError(f"a list expected, not {str(data)[:40]}")
    return tuple(map(read_term, data))


def read_lists(data: object, depth: int = 0) -> Term:
    """Reads a term that is a text or nested lists of these. Raises `ValueError`."""
    if isinstance(data, str):
        return data
    if not isinstance(data, list) or depth > MAX_DEPTH:
        raise ValueError("no term")
    return tuple(read_lists(part, depth + 1) for part in data)


def read_text(data: object) -> str:
    """Reads a text. Raises `ValueError`."""
    if not isinstance(data, str):
        raise ValueError(f"text expected, not {str(data)[:40]}")
    return data


def read_count(data: object) -> int:
    """Reads a number of things. Raises `ValueError`."""
    if not isinstance(data, int) or data < 0:
        raise ValueError(f"a number expected, not {str(data)[:40]}")
    return data


def states_to_json(states: Iterable[tuple[Iterable[Term], float]]) -> bytes:
    """Returns states, as facts and weights, as JSON (see `agent.playing.messages.Situation`)."""
    return json.dumps([[weight, list(facts)] for facts, weight in states], separators=(",", ":")).encode()


def states_from_json(text: bytes) -> list[tuple[frozenset[Term], float]]:
    """Returns states that are there as JSON, one at least. Raises `ValueError` for other text."""
    pairs = bounded_json.loads(text.decode())
    if not (isinstance(pairs, list) and pairs and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)):
        raise ValueError("states with their weights expected")
    states = []
    for weight, facts in pairs:
        read = read_lists(facts)
        if isinstance(read, str) or () in read or not bounded_json.number(weight) > 0:
            raise ValueError("a weight and a list of facts expected")
        states.append((frozenset(read), bounded_json.number(weight)))
    return states
