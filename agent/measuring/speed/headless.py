"""A headless Chromium that opens pages by its DevTools' HTTP addresses."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from agent.errors import CommandError

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

START_SECONDS = 30.0
"""How long it may take to start. Set by hand."""


def find_browser() -> str | None:
    """The path of a browser that may be used; None where there is none of `BROWSERS`."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextlib.asynccontextmanager
async def headless_browser() -> AsyncIterator[str]:
    """A headless browser without a page; yields the address by which it is told to open and close some.

    Raises `CommandError`.
    """
    path = find_browser()
    if path is None:
        raise CommandError(f"there is no browser: none of {', '.join(BROWSERS)}")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        more = ("--no-sandbox",) if os.geteuid() == 0 else ()
        process = await asyncio.create_subprocess_exec(
            path,
            *("--headless=new", "--disable-gpu", "--remote-debugging-port=0", f"--user-data-dir={folder}", *more),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            told = Path(folder) / "DevToolsActivePort"
            async with asyncio.timeout(START_SECONDS):
                while not (told.exists() and "\n" in told.read_text()):
                    await asyncio.sleep(0.05)
            yield f"http://127.0.0.1:{told.read_text().splitlines()[0]}"
        except TimeoutError:
            raise CommandError(f"{path} does not start") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()
