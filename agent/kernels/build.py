"""The process that compiles one group of kernels into the cache.

It ends at once if the group is complete or being compiled by another process. When it is ended, kernels compiled by
then stay in the cache.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from multiprocessing.connection import Connection

from agent.kernels import state
from agent.kernels.meter import Specialisation, metering
from agent.kernels.state import BuildProgress
from agent.search.kernel_groups import kernel_groups


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


def work(pipe: Connection, group: str) -> None:
    """Compiles a group in a process of its own."""
    # Garbage collection takes a tenth of the time, and the process is short.
    gc.disable()
    build(group)
