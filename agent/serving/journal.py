"""The journal, from which a restarted server takes its running matches up again.

One file per match, one JSON object per line; lines are only appended, and empty ones ignored. The first line has the
START. Each further line has

- the last joint move as a PLAY told it, with its number and moment, and the number of those missed before it: synced to
  the disk before it is acted on,
- an answer, or a state of the match, which saves playing through it: not waited for, as only time is lost without it,
- or the number of circuits found wrong by then.

A finished match's file is removed.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.bounded_json import number
from agent.json_lines import LineFile, read_lines
from agent.playing.messages import MOST_FACTS, MOST_MISSED, Checkpoint, Judged, Received, Unseen, count_turns
from agent.record.spelling import (
    read_count,
    read_lists,
    read_term,
    read_terms,
    read_text,
    reading,
    spell,
    spell_all,
    states_to_json,
)
from agent.serving.moments import Moment
from agent.serving.starting import JOURNAL_SUFFIX
from games.machine import Term
from protocol.messages import Start

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UnfinishedMatch:
    """A match that was running when the server ended; by default one that begins."""

    start: Start
    history: tuple[Received, ...] = ()
    distrust: int = 0
    """Number of its circuits found wrong."""
    journal: MatchJournal | None = None
    answered: Term | None = None
    """Answer to the last message; None if there was none."""
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    """Last state noted."""
    silence: float = 0.0
    """Seconds since the last message."""
    peer: str = ""
    """Peer that began the match; empty if unknown."""


class Journal:
    """A folder of running matches."""

    def __init__(self, folder: Path, *, restarted: bool = False) -> None:
        """Creates the folder if it is missing. Raises `OSError` where that fails, unless `restarted`: then there are
        matches to play, and the disk may come back."""
        self._folder = folder
        self.complete = True
        """Whether all matches that there are could be read when they were last looked for."""
        # Another one stands there when the disk has come back.
        self._misses_folder = restarted and not os.path.isdir(folder)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            if not restarted:
                raise
            log.error("cannot write the journal: %s", error)

    def match(self, match_id: str, peer: str = "") -> MatchJournal:
        """Returns the journal of a match, begun by a peer, its file existing or not."""
        return MatchJournal(self._path(match_id), peer=peer)

    def unfinished(self, now: Moment, running: Collection[str] = ()) -> Iterator[UnfinishedMatch]:
        """Yields the matches to take up, but for those that are running. Files that cannot be read are left alone."""
        self.complete = not self._misses_folder
        taken = set(map(self._path, running))
        try:
            names = sorted(os.listdir(self._folder))
        except OSError as error:
            self.complete = False
            log.warning("cannot read the journal: %s", error)
            return
        for path in (self._folder / name for name in names if name.endswith(JOURNAL_SUFFIX)):
            if path in taken:
                continue
            try:
                with reading():
                    found = _load(path, now)
            except (OSError, ValueError) as error:
                self.complete = self.complete and isinstance(error, ValueError)
                log.warning("cannot read the journal %s: %s", path, error)
            else:
                self._misses_folder = False
                yield found

    def _path(self, match_id: str) -> Path:
        readable = re.sub(r"[^0-9A-Za-z._-]", "_", match_id)[:80]
        digest = hashlib.sha256(match_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        return self._folder / f"{readable}-{digest}{JOURNAL_SUFFIX}"


class MatchJournal(LineFile):
    """The file of one match."""

    def __init__(self, path: Path, lines: Iterable[dict[str, Any]] = (), peer: str = "") -> None:
        """`lines` are those that a former server wrote; `peer` began the match."""
        super().__init__(path, [line for line in lines if not line.keys() & {"answer", "states", "facts"}])
        self._peer = peer

    async def start(self, start: Start, distrust: int = 0) -> None:
        """Begins a new file; `distrust` is the number of circuits known to be wrong."""
        line = {
            "match": start.match_id,
            "role": spell(start.role),
            "start_clock": start.start_clock,
            "play_clock": start.play_clock,
            "distrust": distrust,
            "peer": self._peer,
            **Moment.present().as_json(),
        }
        await self.append(line, lambda: {"listed": sorted(start.listed), "rules": spell_all(start.rules)}, anew=True)

    async def received(self, received: Received, number: int) -> None:
        """Adds a joint move; numbers begin with 1."""

        def spell() -> dict[str, object]:
            if isinstance(received, Unseen):
                missed = {"missed": received.missed} if received.missed else {}
                seen = {} if received.percepts is None else {"percepts": spell_all(received.percepts)}
                return {"own": _spell_known(received.own), **missed, **seen}
            if isinstance(received, Judged):
                answered = _spell_known(received.answered)
                interrupted = received.interrupted
                return {"moves": spell_all(received.moves), "answered": answered, "interrupted": interrupted}
            return {"moves": spell_all(received)}

        await self.append({"number": number, **Moment.present().as_json()}, spell)

    async def answered(self, move: Term, number: int) -> None:
        """Notes the answer given after `number` joint moves."""
        await self.append({"turn": number}, lambda: {"answer": spell(move)}, keep=False, sync=False)

    async def reached(self, checkpoint: Checkpoint) -> None:
        """Notes a state of the match; a large one takes longer to write than to reach."""
        states = checkpoint.states
        if states is not None and len(states) <= MOST_FACTS:
            line: dict[str, object] = {"turn": checkpoint.turn, "disputed": checkpoint.disputed}
            await self.append(line, lambda: {"states": json.loads(states)}, keep=False, sync=False)

    async def distrusted(self, circuits: int) -> None:
        """Notes the number of circuits found wrong by now."""
        await self.append({"distrust": circuits})


def _load(path: Path, now: Moment) -> UnfinishedMatch:
    """Returns a file's match. Raises `OSError`, and various errors for a damaged file."""
    # An unfinished last line was not acted on, a broken one in between was written again.
    lines = [line for _, line in read_lines(path.read_bytes()) if line is not None]
    head = lines[0]
    start = Start(
        match_id=read_text(head["match"]),
        role=read_term(head["role"]),
        rules=read_terms(head["rules"]),
        start_clock=read_count(head["start_clock"]),
        play_clock=read_count(head["play_clock"]),
        listed=frozenset(map(read_text, head.get("listed", ()))),
    )
    received: dict[int, dict[str, Any]] = {}
    answer: dict[str, Any] | None = None
    state: dict[str, Any] | None = None
    for line in lines[1:]:
        if "rules" in line:
            # The match began again, or the file was written anew.
            received, answer, state = {}, None, None
        elif "moves" in line or "own" in line:
            # A line that could not be synced may be there twice.
            received[read_count(line.get("number", len(received) + 1))] = line
        elif "answer" in line:
            answer = line
        elif "states" in line or "facts" in line:
            state = line
    history = tuple(_received(received[number]) for number in sorted(received))
    numbers = list(itertools.accumulate(map(count_turns, history), initial=0))
    if sorted(received) != numbers[1:]:
        raise ValueError("a turn is missing")
    peer = read_text(head.get("peer", ""))
    moments = [Moment.read(line) for line in received.values() if "at" in line]
    began = Moment.read(head) if "at" in head else Moment(path.stat().st_mtime)
    return UnfinishedMatch(
        start,
        history,
        max(read_count(line.get("distrust", 0)) for line in lines),
        MatchJournal(path, lines, peer),
        answered=read_term(answer["answer"]) if answer is not None and answer["turn"] == numbers[-1] else None,
        checkpoint=_checkpoint(state) if state is not None and read_count(state["turn"]) in numbers else Checkpoint(),
        silence=(moments[-1] if moments else began).until(now),
        peer=peer,
    )


def _received(line: dict[str, Any]) -> Received:
    if "own" in line:
        percepts = line.get("percepts")
        seen = None if percepts is None else read_terms(percepts)
        return Unseen(_read_known(line["own"]), seen, min(read_count(line.get("missed", 0)), MOST_MISSED))
    moves = read_terms(line["moves"])
    if "answered" not in line:
        return moves
    # Version 0.2 wrote the number of turns that may have been missed, or null.
    return Judged(moves, _read_known(line["answered"]), bool(line.get("interrupted", line.get("missed"))))


def _checkpoint(line: dict[str, Any]) -> Checkpoint:
    disputed = line["disputed"]
    # Version 0.2 wrote the facts of known states.
    pairs = line["states"] if "states" in line else [[1.0, line["facts"]]]
    states = states_to_json((tuple(map(read_lists, facts)), number(weight)) for weight, facts in pairs)
    return Checkpoint(line["turn"], states, None if disputed is None else tuple(map(read_lists, disputed)))


def _spell_known(term: Term | None) -> str | None:
    return None if term is None else spell(term)


def _read_known(data: Any) -> Term | None:
    return None if data is None else read_term(data)
