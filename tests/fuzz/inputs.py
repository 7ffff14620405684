"""Hostile messages: mutations of what managers send, as recorded and as composed from the project's own sheets."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

from agent.search.learning.memory import VERSION
from games import rulesheets
from protocol import infix, kif
from protocol.compose import Style, compose
from protocol.kif import read_rulesheet
from protocol.messages import Abort, Info, Message, Ping, Play, Preview, Start, Stop
from protocol.terms import Term
from tests.conftest import SHARED
from tests.fuzz.checks import DIGEST, SETTINGS
from tests.protocol.conftest import recorded_requests

LONGEST = 10_000
"""Bytes of a mutated message at most."""

STYLES: tuple[Style, ...] = ("ggp-base", "dresden", "infix")

WIRE = SHARED / "wire"

PIECES = (
    *(bytes((byte,)) for byte in b"()[]{}\"\\;%~&|,.:?_ \t\r\n\x00\x0b\x1c\x1f\x7f\x80\xff'#<=>+-/*"),
    *(b":-", b"<=", b"()", b"[]", b'\\"', b"NIL", b"nil", b"?x", b"_", b"0", b"-1", b"1.5", b"999999999", b"1e9"),
    *(b"role", b"init", b"true", b"next", b"legal", b"does", b"goal", b"terminal", b"sees", b"distinct", b"random"),
    *(b"not", b"or", b"and", b"start", b"play", b"stop", b"abort", b"info", b"ping", b"preview", b"(not ", b"f("),
    *(text.encode() for text in ("\ufeff", "\u2028", "\u0085", "\u00a0", "\u202e", "\U0001f600", "\u0130")),
    *(b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"%00", b"%28", b"%2", b"+", b"\x1b[2J"),
)
"""What has a meaning somewhere, or is known to break readers."""


def requests(folder: Path = WIRE) -> list[bytes]:
    """Whole requests, header and body: the recorded ones where they are there, and one of each message."""
    found = [recorded.request for recorded in recorded_requests(folder)]
    for body in composed(rules_up_to=600):
        found.append(b"POST / HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    found.append(b"GET /(PLAY%20m%20NIL) HTTP/1.1\r\nHost: x\r\n\r\n")
    found.append(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    found.append(b"OPTIONS /x HTTP/1.1\r\nHost: x\r\nOrigin: y\r\nAccess-Control-Request-Headers: a\r\n\r\n")
    found.append(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n(info)\r\n0\r\n\r\n")
    return found


def composed(rules_up_to: int) -> list[bytes]:
    """Messages of all kinds and styles; rules are cut after so many characters."""
    found = []
    for name in rulesheets.names():
        rules = _first(read_rulesheet(rulesheets.text(name)), rules_up_to)
        for style in STYLES:
            start = Start(f"match.{name}.17", "x", rules, 30, 15)
            found += [compose(message, style).encode() for message in (start, Preview(rules, 20))]
    moves: tuple[Term, ...] = (("mark", "1", "2"), "noop")
    others: tuple[Message, ...] = (
        *(Info(), Ping(), Ping("m7"), Abort("tiltyard.x.1")),
        *(kind("m", joint) for kind in (Play, Stop) for joint in (None, moves, (("f", ("g", "a", "++")),))),
        *(kind("m", None, 3, last, (("saw", "x"), "y")) for kind in (Play, Stop) for last in (None, moves[0])),
    )
    return found + [compose(message, style).encode() for message in others for style in STYLES]


def sheets(characters: int) -> list[bytes]:
    """The project's own rulesheets in both syntaxes, cut after so many characters."""
    found = []
    for name in rulesheets.names():
        rules = _first(read_rulesheet(rulesheets.text(name)), characters)
        found += [kif.write_rulesheet(rules).encode(), infix.write_rulesheet(rules).encode()]
        found.append(rulesheets.text(name)[:characters].encode())
    return found


def journals() -> list[bytes]:
    """Files of the journal, as a server leaves them."""
    head = {"match": "m", "role": "x", "start_clock": 30, "play_clock": 15, "distrust": 0, "at": 1000.0}
    rules = ["(role x)", "(<= (legal x (go ?y)) (true (at ?y)))", "terminal"]
    lines: list[dict[str, object]] = [
        {**head, "rules": rules},
        {"answer": "(go 1)", "turn": 0},
        {"number": 1, "moves": ["(go 1)", "noop"], "at": 1010.5},
        {"turn": 1, "facts": [["at", "1"], "over"], "disputed": None},
        {"number": 2, "moves": ["(go 2)", "noop"], "answered": None, "interrupted": True, "at": 1020.5},
        {"distrust": 1},
        {"number": 3, "own": None, "percepts": ["(saw x)"], "at": 1030.5, "up": 7.5, "boot": "b"},
        {"number": 9, "own": "noop", "missed": 5, "at": 1040.5},
        {"number": 10, "moves": ["(go 2)", "noop"], "answered": "(go 1)", "missed": 1.5, "at": 1050.5},
        {"turn": 3, "facts": [["at", "1"]], "disputed": [["go", "9"], "noop"]},
    ]
    texts = [json.dumps(line) + "\n" for line in lines]
    return ["".join(texts[:count]).encode() for count in range(1, len(texts) + 1)]


def records() -> list[bytes]:
    """Records of matches, as the referee and the page write them."""
    thought = {
        **{"engine": "general", "reason": "r", "move": "(mark 1 2)", "value": 61.5, "proven": False, "plies": None},
        **{"final": False, "spread": [50.0, 70.25], "info": {"playouts": 1000, "depth": 7, "by": "alpha-beta"}},
        **{"rate": {"of": "playouts", "value": 12.5}, "seconds": 1.25, "line": ["(mark 1 2)", "noop"]},
        "candidates": [{"move": "noop", "value": None, "proven": True, "plies": 3, "visits": 17}],
    }
    error = {"role": "x", "step": 1, "request": "play", "kind": "late", "detail": "no reply"}
    record = {
        **{"game": "g", "match_id": "m.1", "roles": ["x", "(player o)"], "players": ["random", "http://h:1"]},
        **{"start_clock": 30, "play_clock": 15.5, "scramble": "none", "seed": 1, "outcome": "finished"},
        **{"goals": [100, None], "errors": [error], "steps": 2},
        "moves": [["(mark 1 2)", "noop"], ["noop", "(mark 2 2)"]],
        "states": [["(cell 1 1 b)", "(control x)"], ["(cell 1 2 x)"], []],
        "seconds": [[0.5, 0.25], []],
    }
    thoughts = {"thoughts": [{"0": thought}, {}, {"1": thought}]}
    partly_known = {
        **{"moves": [None, ["noop", "(mark 2 2)"]], "states": [["(control x)"], None, []], "resigned": 1},
        **{"missed": [0, 3, 0], "others": [0, 7, 0], "answers": [{"0": "noop"}, {}, {}], "began": 1.5e9},
        "rules": ["(role x)", "(role (player o))", "(<= (legal x (say %22a%20b%22)) (true over))"],
    }
    return [
        json.dumps(data).encode() for data in (record, {**record, **thoughts}, {**record, **thoughts, **partly_known})
    ]


def entries() -> list[bytes]:
    """Entries of the memory: each array's type and content."""
    keys = [0, 7, 1 << 63, (1 << 64) - 1]
    entry: dict[str, tuple[str, object]] = {
        **{"version": ("i8", VERSION), "rules": ("U", DIGEST), "keys": ("u8", keys), "rows": ("f4", [[0.25]] * 4)},
        **{"base": ("f4", [0.0]), "outputs": ("f4", [[-0.5]] * 3), "counts": ("i8", [3, 100, 2, 2])},
        **{"points": ("f8", 1.5), "fluents": ("u8", keys), "facts": ("u1", [[1], [2], [3]])},
        **{"movers": ("u1", [0, 1, 2]), "targets": ("u2", [0, 65535, 1])},
    }
    empty = {"fluents": ("u8", []), "facts": ("u1", [[]]), "movers": ("u1", [1]), "targets": ("u2", [1])}
    return [json.dumps(data).encode() for data in (entry, {**entry, **empty})]


def logs() -> list[bytes]:
    """Logs of tournaments."""
    error = {"seat": 0, "role": "x", "step": 2, "request": "play", "kind": "illegal", "detail": "d"}
    turns = {"proven_from": 3, "proofs_missed": 0, "slowest": 0.5, "available": 4.0, "cpu": 3.5}
    row = {
        **SETTINGS,
        **{"game": "g", "round": 1, "seats": ["a", "b"], "specs": ["general@0.2", "random:7"], "rules": "00ff"},
        **{"roles": ["x", "o"], "outcome": "finished", "goals": [100, 0], "opening": [["(go 1)", "noop"]]},
        **{"moves": [["noop", "(go 2)"], ["(go 3)", "noop"]], "errors": [error], "seconds": 3.25},
        **{"rulesheet": "(role x) (role o)", "chose_first": 0, "turns": [turns, None]},
    }
    stalled = {**row, "balanced": True, "round": 2, "goals": [], "outcome": "stalled", "errors": [], "turns": []}
    lines = [json.dumps(data).encode() + b"\n" for data in (row, stalled, {**row, "round": 3, "seats": ["b", "a"]})]
    damaged = [lines[0] + lines[1][:-20], b"\xef\xbb\xbf" + b"".join(lines) + bytes(20), bytes(20).join(lines)]
    return [b"".join(lines[:count]) for count in (1, 2, 3)] + damaged


VALUES = (
    *(None, True, 0, -1, 1.5, 1e308, -1e-308, 10**18, 10**308, 10**400),
    *("", "x", "(f a)", "((", "-1", "nan", "1e999", [], {}),
    *([None], [[]], [["x"]], {"0": {}}, {"x": 1}, "\ud800", "\u202e", '"\\"' * 50, "(" * 600, "a " * 2000, [0] * 500),
)
"""What another value of a file may be replaced by."""


def _first(rules: tuple[Term, ...], characters: int) -> tuple[Term, ...]:
    count = 0
    for index, statement in enumerate(rules):
        count += len(repr(statement))
        if count > characters:
            return rules[:index]
    return rules


class Mutator:
    """Draws seeds and changes them, at random but repeatably."""

    def __init__(self, seeds: list[bytes], rng: Random) -> None:
        self._seeds = seeds
        self._rng = rng

    def draw(self) -> bytes:
        """A seed that was changed a few times; one in fifty is only cut from a seed, or from random bytes."""
        rng = self._rng
        text = rng.choice(self._seeds)
        if rng.random() < 0.02:
            return rng.randbytes(rng.randrange(200)) if rng.random() < 0.5 else text[: rng.randrange(len(text) + 1)]
        for _ in range(1 + int(rng.expovariate(0.5))):
            text = self._change(text)
        return text[:LONGEST]

    def draw_request(self) -> bytes:
        """A request that was changed: in half of them its body only, with the length that the header says."""
        if self._rng.random() < 0.5:
            return self.draw()
        head, found, body = self._rng.choice(self._seeds).partition(b"\r\n\r\n")
        for _ in range(1 + int(self._rng.expovariate(0.5))):
            body = self._change(body)
        body = body[:LONGEST]
        return re.sub(rb"(?i)(content-length: *)[0-9]+", rb"\g<1>%d" % len(body), head) + found + body

    def _change(self, text: bytes) -> bytes:
        rng = self._rng
        begin = rng.randrange(len(text) + 1)
        end = min(len(text), begin + 1 + int(rng.expovariate(0.05)))
        match rng.randrange(10):
            case 0:
                middle = b""
            case 1:
                middle = rng.choice(PIECES) + text[begin:end]
            case 2:
                middle = rng.choice(PIECES)
            case 3:
                middle = text[begin:end] * rng.choice((2, 3, 17))
            case 4:
                middle = bytes((rng.randrange(256),))
            case 5:
                other = rng.choice(self._seeds)
                start = rng.randrange(len(other))
                middle = other[start : start + 1 + int(rng.expovariate(0.02))]
            case 6:
                middle = text[begin:end].swapcase()
            case 7:
                return text[end:] + text[begin:end] + text[:begin]
            case 8:
                # As much of it as fits: what takes more than linear time shows.
                unit = b"".join(rng.choices(PIECES, k=rng.randrange(1, 4)))
                middle = unit * (rng.choice((5, 50, LONGEST)) // len(unit))
            case _:
                # A token for another one.
                tokens = [found.span() for found in re.finditer(rb"[^\s(),\[\]]+", text)]
                if not tokens:
                    return text + rng.choice(PIECES)
                (begin, end), (first, last) = rng.choice(tokens), rng.choice(tokens)
                middle = text[first:last] if rng.random() < 0.5 else rng.choice(PIECES)
        return text[:begin] + middle + text[end:]


class JsonMutator(Mutator):
    """Changes half of the seeds as data: lines of JSON in which values are replaced, added, doubled or removed."""

    def draw(self) -> bytes:
        """See `Mutator.draw`."""
        rng = self._rng
        if rng.random() < 0.5:
            return super().draw()
        mark, text = rng.choice(self._seeds).removeprefix(b"#"), b""
        for line in mark.splitlines(keepends=True):
            try:
                data = json.loads(line)
            except ValueError:
                text += line
                continue
            for _ in range(int(rng.expovariate(0.7))):
                self._change_data(data)
            text += json.dumps(data).encode() + line[len(line.rstrip()) :]
        return text[:LONGEST]

    def _change_data(self, data: Any) -> None:
        """Changes one value somewhere inside."""
        rng = self._rng
        holder, place = None, None
        while isinstance(data, dict | list) and data and (holder is None or rng.random() < 0.8):
            holder, place = data, rng.choice(list(data) if isinstance(data, dict) else range(len(data)))
            data = data[place]
        if holder is None:
            return
        match rng.randrange(6):
            case 0:
                del holder[place]
            case 1 if isinstance(holder, list):
                holder *= rng.choice((2, 17))
            case 2 if isinstance(holder, dict):
                holder[rng.choice(("", "x", "1e9", "-1", "moves", "0" * 40))] = data
            case 3 if isinstance(data, str):
                holder[place] = self._change(data.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
            case 4 if isinstance(data, int | float) and abs(data) < 1e9:
                holder[place] = rng.choice((-data, data + 1, data / 7, data * 10**9, str(data), int(data)))
            case _:
                holder[place] = deepcopy(rng.choice(VALUES))
