"""A process of a match: the reference, or the search.

The server starts it as `python -m agent.playing.main --kind reference|search`. Commands come on standard input, reports
leave on standard output (see `agent.playing.messages`); `agent.playing.truth` or `agent.playing.search` does the rest.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent.processes import end_with_parent

if TYPE_CHECKING:
    from agent.playing.messages import Begin, Channel

REFERENCE, SEARCH = "reference", "search"
"""Kinds of processes."""

NICENESS = 1
"""Niceness of these processes: the server, which only runs for moments, goes first."""


def main(argv: Sequence[str] | None = None) -> None:
    """Gets ready, reports that, and plays the first match that is not refused."""
    parser = argparse.ArgumentParser(prog="agent.playing.main", description=__doc__)
    parser.add_argument("--kind", choices=(REFERENCE, SEARCH), required=True)
    parser.add_argument("--memory", type=int, required=True, help="bytes for this process and its children")
    parser.add_argument("--server", type=int, required=True, help="the process that started this one")
    parser.add_argument("--without", default="", help="groups of kernels not to use, separated by commas")
    options = parser.parse_args(argv)
    # A stopped process would not notice the end of its server, and stay for ever.
    end_with_parent(signal.SIGKILL)
    if os.getppid() != options.server:
        # The server was gone before that.
        return

    # Only now, as importing takes a while: a process that hung in it would outlive its server.
    from agent.logs import formatter, start_logging
    from agent.playing.messages import Begin, Channel, Warm
    from games.memory import be_killed_sooner, bound_memory

    # Other output must not get between the reports.
    channel = Channel(os.dup(0), os.dup(1))
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.register_at_fork(after_in_child=channel.close)
    handler = start_logging()
    if os.getpriority(os.PRIO_PROCESS, 0) < NICENESS:
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    be_killed_sooner()

    started = time.monotonic()
    play = _search(options.without.split(",")) if options.kind == SEARCH else _reference()
    # Half of a search's memory is for its children. From here on it depends on the rules how much is needed.
    share = options.memory // 2 if options.kind == SEARCH else options.memory
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    bound_memory(share - resident)
    try:
        channel.send(Warm(time.monotonic() - started))
        playing = True
        while playing:
            # In this way the server notices a spare process that hangs before a match needs it.
            command = channel.listen()
            if isinstance(command, Begin):
                handler.setFormatter(formatter(command.start.match_id))
                playing = play(channel, command)
    except (EOFError, BrokenPipeError):
        pass
    finally:
        sys.stderr.flush()
        # Threads may be deep in a search or a slow machine, and are not worth waiting for.
        os._exit(0)


def _reference() -> Callable[[Channel, Begin], bool]:
    """Returns what plays a match. Imports neither NumPy nor kernels."""
    from agent.playing.truth import Truth

    return lambda channel, begin: Truth(channel, begin).run()


def _search(without: Sequence[str]) -> Callable[[Channel, Begin], bool]:
    """Loads the kernels; returns what plays a match."""
    from agent.playing.search import Search
    from agent.search import registry

    registry.warm_up(without)
    return lambda channel, begin: Search(channel, begin).run()


if __name__ == "__main__":
    main()
