"""The worker process, which plays one match. If it hangs or dies, the match gets a weaker move, no more.

`agent.serving.worker_pool` starts it as `python -m agent.worker.main`. Commands come on standard input, reports leave
on standard output (see `agent.worker.messages`); `agent.worker.session` does the rest.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from agent.processes import end_with_parent

NICENESS = 1
"""Niceness of workers: the server process, which only runs for moments, goes first."""


def main(argv: Sequence[str] | None = None) -> None:
    """Loads the kernels, reports that, and plays the first match that is not refused.

    A light worker loads none: the interpreter has legal moves a moment after the start, and plain Monte-Carlo search
    thinks until a worker with kernels takes over.
    """
    parser = argparse.ArgumentParser(prog="agent.worker.main", description=__doc__)
    parser.add_argument("--memory", type=int, required=True, help="bytes for this process and its children")
    parser.add_argument("--server", type=int, required=True, help="the process that started this one")
    parser.add_argument("--without", default="", help="groups of kernels not to use, separated by commas")
    parser.add_argument("--light", action="store_true", help="load no kernels at all")
    options = parser.parse_args(argv)
    # A stopped worker would not notice the end of its server, and stay for ever.
    end_with_parent(signal.SIGKILL)
    if os.getppid() != options.server:
        # The server was gone before that.
        return

    # Only now, as importing takes a while: a worker that hung in it would outlive its server.
    from agent.logs import formatter, start_logging
    from agent.worker.messages import PULSE, Alive, Begin, Channel, Warm
    from agent.worker.session import Session
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
    if not options.light:
        from agent.search import registry

        registry.warm_up(options.without.split(","))
    # The other half is for children. From here on it depends on the rules how much is needed.
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    bound_memory(options.memory // 2 - resident)
    try:
        channel.send(Warm(time.monotonic() - started))
        while True:
            command = channel.receive(PULSE)
            if command is None:
                # So the server notices a spare that hangs before a match needs it.
                channel.send(Alive())
            elif isinstance(command, Begin):
                handler.setFormatter(formatter(command.start.match_id))
                Session(channel, command, light=options.light).run()
    except (EOFError, BrokenPipeError):
        pass
    finally:
        sys.stderr.flush()
        # Gamers may be deep in a search or a slow machine, and are not worth waiting for.
        os._exit(0)


if __name__ == "__main__":
    main()
