"""The process that compiles one group of kernels into the cache: `python -m agent.kernels.build GROUP`.

It ends at once where the group is complete already or another process is at it. It also ends when its standard input
is closed: nobody waits any longer. What was compiled by then stays in the cache.
"""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import replace

from agent.kernels import state
from agent.kernels.groups import GROUPS
from agent.kernels.state import Progress


def build(group: str) -> None:
    """Compiles the group, unless that is done or being done. Raises `OSError` where the cache cannot be written."""
    with state.claim(group) as mine:
        if not mine or state.read(group).complete:
            return
        _Recorder(group).run()


class _Recorder:
    """Writes down each kernel that Numba has compiled."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._progress = Progress(state.toolchain())

    def run(self) -> None:
        from numba.core import event

        class Listener(event.Listener):
            """Numba tells of cache misses only."""

            def on_start(_, started: event.Event) -> None:
                pass

            def on_end(_, ended: event.Event) -> None:
                self._note(ended.data["dispatcher"].py_func)

        state.write(self._group, self._progress)
        with event.install_listener("numba:compile", Listener()):
            GROUPS[self._group].load()
        state.write(self._group, replace(self._progress, complete=True))

    def _note(self, kernel: object) -> None:
        self._progress = replace(self._progress, compiled=self._progress.compiled + 1)
        if kernel.__module__.startswith(("agent.", "games.")):
            # Others are Numba's own, compiled on the way.
            name = f"{kernel.__module__}.{getattr(kernel, '__qualname__', '')}"
            self._progress = replace(self._progress, latest=name)
        state.write(self._group, self._progress)


def main() -> None:
    """The command."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    build(sys.argv[1])
    # Taking the interpreter down would take longer than the kernel cache needs: it is written.
    os._exit(0)


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
