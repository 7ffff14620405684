"""Takes `match.png` beside this file, the page in a match of the agent with itself: `python docs/make_picture.py`.

Needs Playwright (the extra `test`) and a browser, `chromium` by default: `BROWSER=google-chrome python ...`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).with_name("match.png")
PORT, GAME, PLIES = 9457, "reversi", 24
WIDTH, HEIGHT = 1100, 700
MOST_BYTES = 120_000
COMMAND = (sys.executable, "-m", "agent.cli")


def take(url: str) -> None:
    """Takes the picture once so many plies of the server's match have been played."""
    with sync_playwright() as playwright:
        executable = shutil.which(os.environ.get("BROWSER", "chromium"))
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(url)
        page.get_by_role("link", name=GAME.capitalize()).last.click(timeout=60_000)
        page.get_by_text(f"{PLIES} / {PLIES}", exact=True).wait_for(timeout=180_000)
        # Until what is drawn has stopped moving.
        page.wait_for_timeout(900)
        page.screenshot(path=PICTURE)
        browser.close()
    assert PICTURE.stat().st_size <= MOST_BYTES, PICTURE.stat().st_size


def main() -> None:
    """Serves, begins a match, and takes the picture."""
    url = f"http://127.0.0.1:{PORT}"
    with subprocess.Popen([*COMMAND, "serve", "--port", str(PORT), "--no-supervisor", "--no-memory"]) as server:
        while b'"available": true' not in health(url):
            time.sleep(0.5)
        match = [*COMMAND, "match", GAME, "--players", f"{url},agent", "--start-clock", "8", "--play-clock", "2"]
        with subprocess.Popen(match, stdout=subprocess.DEVNULL) as playing:
            try:
                take(url)
            finally:
                playing.terminate()
                server.terminate()


def health(url: str) -> bytes:
    """Returns what the server says of itself; nothing before it listens."""
    try:
        with urllib.request.urlopen(f"{url}/healthz") as answer:
            return bytes(answer.read())
    except OSError:
        return b""


if __name__ == "__main__":
    main()
