"""Commands whose standard output and error are a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def shown_on_a_terminal(*arguments: str) -> str:
    """Runs Python with these arguments and returns its output on a terminal; asserts success."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "NO_COLOR": ""}
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    shown = b""
    try:
        while more := os.read(ours, 4096):
            shown += more
    except OSError:
        # The other end was closed.
        pass
    os.close(ours)
    assert process.wait(600) == 0, shown.decode()
    return shown.decode()
