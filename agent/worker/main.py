"""The worker process: plays one match, and may hang or die without the match noticing more than a weaker move.

Started by `agent.serving.worker_pool` as `python -m agent.worker.main`; commands come on standard input, reports leave
on standard output (see `agent.worker.messages`). What happens in between is `agent.worker.session`.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence

from agent.processes import end_with_parent

NICENESS = 1
"""Lets the server process, which only ever runs for moments, have its turn first; too little to matter otherwise. Set
by hand; not tuned."""


def main(argv: Sequence[str] | None = None) -> None:
    """Loads the kernels, says so, and plays the first match that it is given and that has a meaning.

    A light worker loads nothing: the interpreter has legal moves a moment after the process was started, and plain
    Monte-Carlo search thinks, until a worker with kernels takes over.
    """
    parser = argparse.ArgumentParser(prog="agent.worker.main", description=__doc__)
    parser.add_argument("--memory", type=int, required=True, help="bytes of address space")
    parser.add_argument("--server", type=int, required=True, help="the process that started this one")
    parser.add_argument("--without", default="", help="groups of kernels not to use, separated by commas")
    parser.add_argument("--light", action="store_true", help="load no kernels at all")
    options = parser.parse_args(argv)
    # One that is stopped would not notice that its server is gone, and stay for ever.
    end_with_parent(signal.SIGKILL)
    if os.getppid() != options.server:
        # It was gone before that.
        return

    # Importing takes a while: one that hung in it would outlive its server.
    from agent.logs import formatter, start_logging
    from agent.worker.messages import PULSE, Alive, Begin, Channel, Warm
    from agent.worker.session import Session

    # Whatever else prints must not get between the reports.
    channel = Channel(os.dup(0), os.dup(1))
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.register_at_fork(after_in_child=channel.close)
    handler = start_logging()
    if os.getpriority(os.PRIO_PROCESS, 0) < NICENESS:
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = options.memory if hard == resource.RLIM_INFINITY else min(options.memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))

    started = time.monotonic()
    if not options.light:
        from agent.search import registry

        registry.warm_up(options.without.split(","))
    try:
        channel.send(Warm(time.monotonic() - started))
        while True:
            command = channel.receive(PULSE)
            if command is None:
                # A spare that hangs is found out before a match needs it.
                channel.send(Alive())
            elif isinstance(command, Begin):
                handler.setFormatter(formatter(command.start.match_id))
                Session(channel, command, light=options.light).run()
    except (EOFError, BrokenPipeError):
        pass
    finally:
        sys.stderr.flush()
        # Gamers may be deep in a search or a slow machine; nothing of theirs is worth waiting for.
        os._exit(0)


if __name__ == "__main__":
    main()
