"""The temporary folder of a lobby, which is removed however the lobby ends."""

from __future__ import annotations

import contextlib
import shutil
import signal
import tempfile
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from games.child_process import ChildProcess


@contextlib.contextmanager
def passing_folder() -> Iterator[Path]:
    """Makes a folder that goes with the context, or with this process. To be called before there are threads."""
    with tempfile.TemporaryDirectory(prefix="ggp-agent-") as folder:
        # A signal that does nothing: it has to outlive this process.
        child = ChildProcess(_remove_after, folder, ended_by=signal.SIGCONT)
        try:
            yield Path(folder)
        finally:
            child.end()


def _remove_after(pipe: Connection, folder: str) -> None:
    # Which a closed terminal sends to all of its processes.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with contextlib.suppress(EOFError, OSError):
        pipe.recv()
    shutil.rmtree(folder, ignore_errors=True)
