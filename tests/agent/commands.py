"""Commands of the agent in processes of their own, that Ctrl-C ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def start_command(*arguments: str, stdout: int = subprocess.PIPE, stderr: int | None = None) -> subprocess.Popen[str]:
    """`ggp-agent` with these arguments, in a session of its own; what it prints can be read line by line."""
    return subprocess.Popen(
        [sys.executable, "-m", "agent.cli", *arguments],
        cwd=ROOT,
        stdout=stdout,
        stderr=stderr,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
        # Also where the tests themselves were started so that they ignore Ctrl-C.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
