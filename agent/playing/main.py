"""A process of a match: the reference, or the search. `agent.playing.truth` or `agent.playing.search` does the rest."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Collection
from multiprocessing.connection import Connection
from pathlib import Path

from agent.logs import formatter, start_logging
from agent.playing.messages import Begin, Channel, Warm
from games.memory import bound_memory

REFERENCE, SEARCH = "reference", "search"
"""Kinds of processes."""


def play(pipe: Connection, kind: str, memory: int, without: Collection[str]) -> None:
    """Gets ready, reports that, and plays the first match that is not refused.

    `memory` bounds this process, in bytes; `without` are groups of kernels not to use.
    """
    handler, channel = start_logging(), Channel(pipe)
    started = time.monotonic()
    play_match = _search(without) if kind == SEARCH else _reference()
    # From here on it depends on the rules how much is needed.
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    bound_memory(memory - resident)
    try:
        channel.send(Warm(time.monotonic() - started))
        playing = True
        while playing:
            # In this way the server notices a spare process that hangs before a match needs it.
            command = channel.listen()
            if isinstance(command, Begin):
                handler.setFormatter(formatter(command.start.match_id))
                playing = play_match(channel, command)
    except (EOFError, BrokenPipeError):
        pass


def _reference() -> Callable[[Channel, Begin], bool]:
    """Returns what plays a match. Imports neither NumPy nor kernels."""
    from agent.playing.truth import Truth

    return lambda channel, begin: Truth(channel, begin).run()


def _search(without: Collection[str]) -> Callable[[Channel, Begin], bool]:
    """Loads the kernels; returns what plays a match."""
    from agent.playing.search import Search
    from agent.search import registry

    registry.warm_up(without)
    return lambda channel, begin: Search(channel, begin).run()
