"""The process that compiles one group of kernels into the cache: `python -m agent.kernels.build GROUP`.

It ends at once if the group is complete or being compiled by another process. It also ends when its standard input is
closed; kernels compiled by then stay in the cache.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from dataclasses import replace

from agent.kernels import state
from agent.kernels.meter import Specialisation, metering
from agent.kernels.state import BuildProgress
from agent.search.kernel_groups import kernel_groups
from games.memory import be_killed_sooner


def build(group: str) -> None:
    """Compiles the group, unless that is done or under way. Raises `OSError` where the cache cannot be written."""
    with state.claim(group) as mine:
        if not mine or state.read(group).complete:
            return
        progress = BuildProgress(state.toolchain())

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
    """Compiles the group named on the command line."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    be_killed_sooner()
    # Garbage collection takes a tenth of the time, and the process is short.
    gc.disable()
    build(sys.argv[1])
    # Skip the interpreter's slow shutdown; the kernel cache is written.
    os._exit(0)


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
