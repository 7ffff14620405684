"""A manager that is a page, such as Stanford's: it sends infix messages from another origin, by fetch()."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from protocol import infix
from protocol.client import PlayerClient, Unreachable, says_available
from protocol.kif import read_rulesheet
from protocol.messages import Info
from tests.agent.commands import start_command
from tests.processes import until

from .conftest import PATIENCE, SCREENSHOTS

pytestmark = pytest.mark.asyncio(loop_scope="session")

LAMPS = """
(role me) (lamp 1) (lamp 2) (lamp 3) (init (step 0)) (after 0 1) (after 1 2) (after 2 3)
(<= (legal me (press ?x)) (lamp ?x) (not (true (on ?x))))
(<= (next (on ?x)) (does me (press ?x)))
(<= (next (on ?x)) (true (on ?x)))
(<= (next (step ?n)) (true (step ?m)) (after ?m ?n))
(<= terminal (true (step 3)))
(<= (goal me 100) (true (on 1)) (true (on 2)) (true (on 3)))
(<= (goal me 0) (not (true (on 1))))
"""

PAGE = """<!doctype html>
<meta charset="utf-8"><title>Manager</title><link rel="icon" href="data:,">
<h1>A manager in the browser</h1>
<ol id="log"></ol><p id="end"></p>
<script>
const log = document.getElementById("log");
async function send(message) {
  const response = await fetch(PLAYER, {
    method: "POST", body: message,
    headers: { "Content-Type": "text/acl", Sender: "manager", Receiver: "player" },
  });
  const answer = await response.text();
  const line = document.createElement("li");
  line.textContent = `${message.slice(0, 60)} → ${answer}`;
  log.append(line);
  return answer.trim();
}
(async () => {
  const end = document.getElementById("end");
  try {
    const answers = [await send("info()"), await send(`start(lamps1,me,${RULES},60,60)`)];
    let last = "nil";
    for (let step = 0; step < 3; step++) {
      const move = await send(`play(lamps1,${last})`);
      answers.push(move);
      last = `[${move}]`;
    }
    answers.push(await send(`stop(lamps1,${last})`));
    end.textContent = JSON.stringify(answers);
  } catch (error) {
    end.textContent = JSON.stringify(String(error));
  }
})();
</script>
"""


@asynccontextmanager
async def page_of_a_manager(player: asyncio.Future[str]) -> AsyncIterator[str]:
    """Serves the page at a port, and therefore an origin, of its own; yields its address. `player` is that of the
    player, which has to know the page's before."""
    rules = infix.write_list(read_rulesheet(LAMPS))
    page = PAGE.replace("${RULES}", "${" + json.dumps(rules) + "}")

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=page.replace("PLAYER", json.dumps(await player)), content_type="text/html")

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


async def is_available(client: PlayerClient) -> bool:
    """Returns whether a player is there, and free."""
    try:
        return says_available((await client.send(Info(), timeout=PATIENCE)).text)
    except Unreachable:
        return False


@pytest.mark.e2e
async def test_match_for_a_page_of_another_origin(browser: Any, tmp_path: Path) -> None:
    """The page asks, starts, plays to the end and stops, in infix; the browser lets it read each answer."""
    player: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    told = tmp_path / "served.json"
    async with page_of_a_manager(player) as address:
        options = ("--host", "127.0.0.1", "--port", "0", "--workers", "1", "--no-memory", "--json", str(told))
        with start_command("serve", *options, "--browser", address, stdout=subprocess.DEVNULL) as serving:
            await asyncio.to_thread(until, lambda: told.exists() and told.read_text().endswith("}\n"))
            player.set_result(f"http://127.0.0.1:{json.loads(told.read_text())['port']}")
            async with PlayerClient(await player) as client:
                while not await is_available(client):
                    await asyncio.sleep(0.1)
            context = await browser.new_context()
            page = await context.new_page()
            problems: list[str] = []
            requests: list[str] = []
            page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
            page.on("request", lambda request: requests.append(request.method))
            await page.goto(address)
            await page.locator("#end:not(:empty)").wait_for(timeout=5 * PATIENCE)
            answers = json.loads(await page.locator("#end").inner_text())
            SCREENSHOTS.mkdir(exist_ok=True)
            await page.screenshot(path=SCREENSHOTS / "browser-manager.png", full_page=True)
            await context.close()
            serving.terminate()
    assert isinstance(answers, list), answers
    assert "available" in answers[0]
    assert answers[1] == "ready"
    # Every lamp once: all moves that were answered are legal.
    assert sorted(answers[2:5]) == ["press(1)", "press(2)", "press(3)"]
    assert answers[5] == "done"
    assert problems == []
    assert requests.count("POST") == 6
