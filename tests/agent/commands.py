"""Commands of the agent in processes of their own, which Ctrl-C ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]

INLINE_TOURNAMENT = """
import sys
from agent.cli import main
from agent.lab.commands import tournament
from agent.lab.jobs.inline import InlineExecutor
tournament.executor = lambda *_: InlineExecutor()
status = main(["tournament", *sys.argv[1:]])
"""
"""Runs `ggp-agent tournament` in one process: another one for the matches takes seconds to start."""


class Command(subprocess.Popen[str]):
    """A running command, which ends with the test: one that fails would wait for it."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            self.terminate()
        super().__exit__(kind, error, at)


def start_command(*arguments: str, stdout: int = subprocess.PIPE, stderr: int | None = None) -> Command:
    """Starts `ggp-agent` with these arguments in a session of its own; its output can be read line by line."""
    return Command(
        [sys.executable, "-m", "agent.cli", *arguments],
        cwd=ROOT,
        stdout=stdout,
        stderr=stderr,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
        # Undo it where the tests were started with Ctrl-C ignored.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
