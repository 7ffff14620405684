"""Benches of the lobby: `ggp-agent balance` in processes, whose newest reports are shown."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agent import bounded_json
from agent.processes import start_module

MOST_BENCHES = 2
"""Most benches at once, each with one process a sheet."""

KEPT = 8
"""Number of finished benches kept."""

MOST_BENCH_MATCHES = 1000
MOST_BENCH_SECONDS = 60
"""Most matches of a bench, and most seconds a move."""

MOST_LINE = 1 << 20
"""Longest report, in bytes."""

END_SECONDS = 5.0
"""Seconds for a process to end by itself."""

TAIL = 2000
"""Bytes of a failed process's last output that are shown."""


class Bench:
    """Matches of the agent against itself on one sheet, or on two to compare."""

    def __init__(
        self, sheets: Sequence[tuple[str, str]], options: Sequence[str], changed: Callable[[str], None]
    ) -> None:
        """`sheets` are names and texts, `options` are those of `ggp-agent balance`; `changed(key)` is called with
        every new report."""
        names = [name for name, _ in sheets]
        self.key = f"{names[0]}-{secrets.token_hex(3)}"
        self.title = " and ".join(names)
        self._changed = changed
        self._reports: list[dict[str, Any] | None] = [None] * len(sheets)
        self._errors: list[str | None] = [None] * len(sheets)
        self._stopped = False
        self._processes: list[asyncio.subprocess.Process] = []
        self._running = asyncio.gather(
            *(self._run(number, name, text, options) for number, (name, text) in enumerate(sheets))
        )

    @property
    def done(self) -> bool:
        """Whether it is over."""
        return self._running.done()

    def summary(self) -> dict[str, Any]:
        """Returns the overview's data as JSON data."""
        return {"key": self.key, "title": self.title, "done": self.done}

    def view(self) -> dict[str, Any]:
        """Returns the summary, whether it was `stopped`, and per sheet the newest of `reports` and of `errors`, None
        where there is none."""
        return {
            **self.summary(),
            "stopped": self._stopped,
            "reports": list(self._reports),
            "errors": list(self._errors),
        }

    async def stop(self) -> None:
        """Ends its processes."""
        self._stopped = not self.done
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)
        try:
            await asyncio.wait_for(asyncio.shield(self._running), END_SECONDS)
        except TimeoutError:
            for process in self._processes:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            await self._running

    async def _run(self, number: int, name: str, text: str, options: Sequence[str]) -> None:
        with tempfile.TemporaryDirectory(prefix="ggp-agent-") as folder, tempfile.TemporaryFile() as output:
            sheet = Path(folder) / f"{name}.kif"
            sheet.write_text(text, encoding="utf-8")
            try:
                process = await start_module(
                    "agent.cli",
                    *("balance", str(sheet), "--json-lines", *options),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=output.fileno(),
                    ends_by=signal.SIGTERM,
                    longest_line=MOST_LINE,
                )
                self._processes.append(process)
                assert process.stdout is not None
                with contextlib.suppress(ValueError):
                    async for line in process.stdout:
                        self._reports[number] = bounded_json.loads(line.decode())
                        self._changed(self.key)
                if await process.wait() and not self._stopped:
                    output.seek(max(0, output.seek(0, os.SEEK_END) - TAIL))
                    self._errors[number] = output.read().decode(errors="replace").strip() or "its process has failed"
            except OSError as error:
                self._errors[number] = str(error)
            # Told once the whole bench is over, too.
            asyncio.get_running_loop().call_soon(self._changed, self.key)
