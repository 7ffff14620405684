"""The process that compiles one group of kernels into the cache: `python -m agent.kernels.build GROUP`.

It ends at once where the group is complete already or another process is at it. It also ends when its standard input
is closed: nobody waits any longer. What was compiled by then stays in the cache.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from dataclasses import replace

from agent.kernels import state
from agent.kernels.meter import Specialisation, metering
from agent.kernels.state import Progress
from agent.search.kernel_groups import kernel_groups


def build(group: str) -> None:
    """Compiles the group, unless that is done or being done. Raises `OSError` where the cache cannot be written."""
    with state.claim(group) as mine:
        if not mine or state.read(group).complete:
            return
        progress = Progress(state.toolchain())

        def note(compiled: Specialisation) -> None:
            nonlocal progress
            entry = (compiled.kernel, compiled.signature, compiled.ir_lines)
            progress = replace(progress, compiled=(*progress.compiled, entry))
            state.write(group, progress)

        state.write(group, progress)
        with metering(note):
            kernel_groups()[group].load()
        state.write(group, replace(progress, complete=True))


def main() -> None:
    """The command."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # The process is short, and Numba makes many objects: looking for cycles among them takes a tenth of the time.
    gc.disable()
    build(sys.argv[1])
    # Taking the interpreter down would take longer than the kernel cache needs: it is written.
    os._exit(0)


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
