"""Pages in a real browser: Debian's Chromium, by Playwright. Tests that need it skip where either is absent.

All tests of the folder share one event loop, which the browser and the pages that it looks at run in.
"""

from __future__ import annotations

import importlib
import random
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from agent.search.engine import Candidate, Opinion, Score
from agent.web.gallery import Figures, Gallery
from agent.web.hosting import serve_here
from agent.web.records import Records
from agent.web.site import Site
from agent.web.transcript import Transcript
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import check
from games.machine import State, StateMachine, Term
from protocol.kif import read_rulesheet
from tests.agent.commands import start_command

ROOT = Path(__file__).resolve().parents[3]

SCREENSHOTS = ROOT / "screenshots"
"""Folder of the tests' screenshots; not part of the repository."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

PATIENCE = 60_000.0
"""Milliseconds until a missing element fails a test; no test waits for it to pass."""

AXE = {"resultTypes": ["violations"], "rules": {"label-content-name-mismatch": {"enabled": True}}}
"""Options of axe-core: all its rules, and one that counts as experimental: names to be spoken hold the text shown."""

WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Any]:
    """The browser; one for all tests."""
    api = pytest.importorskip("playwright.async_api", reason="needs Playwright")
    pytest.importorskip("axe_playwright_python", reason="needs axe-core for Playwright")
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        pytest.skip(f"needs a browser: one of {', '.join(BROWSERS)}")
    async with api.async_playwright() as playwright:
        # With a sandbox it would not run as root.
        started = await playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield started
        await started.close()


@dataclass
class Window:
    """An open page, its requests, its WebSockets, and its errors."""

    page: Any
    requests: list[str]
    sockets: list[str]
    problems: list[str]
    audited: str = ""
    """Address of the last page audited."""

    async def see(self, selector: str) -> Any:
        """Waits until an element is visible; returns its locator."""
        found = self.page.locator(selector).first
        await found.wait_for(timeout=PATIENCE)
        return found

    async def gone(self, selector: str) -> None:
        """Waits until an element is not visible any more."""
        await self.page.locator(selector).first.wait_for(state="hidden", timeout=PATIENCE)

    async def audit(self) -> None:
        """Notes what axe-core finds wrong for people who use a keyboard or a screen reader, or see little."""
        if self.page.is_closed():
            return
        self.audited = self.page.url
        axe = importlib.import_module("axe_playwright_python.async_playwright").Axe()
        for found in (await axe.run(self.page, options=AXE)).response["violations"]:
            places = "; ".join(f"{node['target']}: {node['failureSummary']}" for node in found["nodes"][:5])
            self.problems.append(f"{found['id']}, {len(found['nodes'])} times: {places}")

    async def keep(self, name: str) -> None:
        """Keeps a screenshot of the page, and audits it."""
        await self.audit()
        SCREENSHOTS.mkdir(exist_ok=True)
        await self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


async def make_a_move(window: Window, plies: int) -> None:
    """Makes the first move that the list offers at a ply, narrowed down as far as needed."""
    await window.see(f".match[data-plies='{plies}'] .turn.yours .move")
    narrowed = True
    while narrowed:
        button: Any = window.page.locator(".turn .move").first
        narrowed = re.search(r"\(\d+\)$", await button.inner_text()) is not None
        await button.click()


class Windows:
    """Opens pages; at its end it audits those that were not yet, and asserts that none has sent requests to another
    host, logged an error or failed an audit.

    Its context belongs inside the server's, as a page without its server logs errors.
    """

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self._windows: list[Window] = []
        self._contexts = AsyncExitStack()

    async def open(
        self, address: str, *, size: dict[str, int] = WIDE, dark: bool = False, script: str = "", beside: Any = None
    ) -> Window:
        """Opens a page, in which a `script` runs first; `beside` another window as a tab of the same browser."""
        if beside is None:
            context = await self._browser.new_context(viewport=size, color_scheme="dark" if dark else "light")
            self._contexts.push_async_callback(context.close)
            context.set_default_timeout(PATIENCE)
            await context.add_init_script(script)
        else:
            context = beside.page.context
        window = Window(await context.new_page(), [], [], [])
        self._windows.append(window)
        window.page.on("request", lambda request: window.requests.append(request.url))
        window.page.on("websocket", lambda socket: window.sockets.append(socket.url))
        window.page.on("pageerror", lambda error: window.problems.append(str(error)))
        window.page.on(
            "console",
            lambda message: (
                window.problems.append(f"{message.text} at {message.location['url']}")
                if message.type in ("error", "warning")
                else None
            ),
        )
        window.page.on("dialog", lambda dialog: window.problems.append(f"dialog: {dialog.message}"))
        await window.page.goto(address)
        return window

    async def __aenter__(self) -> Windows:
        return self

    async def __aexit__(self, *failure: object) -> None:
        for window in self._windows:
            if failure[0] is None and window.page.url != window.audited:
                await window.audit()
        await self._contexts.aclose()
        if failure[0] is not None:
            return
        for window in self._windows:
            host = window.page.url.split("/")[2]
            assert [url for url in window.requests if url.split("/")[2] != host] == []
            assert window.problems == []


@pytest.fixture
def windows(browser: Any) -> Windows:
    """The pages of a test."""
    return Windows(browser)


@asynccontextmanager
async def served(gallery: Gallery, records: Sequence[Path] = (), figures: Figures | None = None) -> AsyncIterator[str]:
    """Serves the matches of a gallery, records and figures; yields the address."""
    async with serve_here(Site(gallery, title="test", records=Records(records), figures=figures)) as address:
        yield f"{address}/"


class Course:
    """A match that a test plays and shows."""

    def __init__(self, gallery: Gallery, name: str, source: str, *, seed: int = 1) -> None:
        rules = read_rulesheet(source)
        self.machine: StateMachine = Interpreter(check(rules))
        self.state: State = self.machine.initial()
        self._random = random.Random(seed)
        roles = self.machine.roles
        players = ("agent", *["random"] * (len(roles) - 1))
        self.transcript = Transcript(
            name, name, roles, players, 30, 10, rules=rules, key=gallery.new_key(name), own=(0,)
        )
        gallery.add(self.transcript)
        self._tell()

    @property
    def path(self) -> str:
        """The match's part of an address."""
        return f"#/match/{self.transcript.key}"

    def _tell(self) -> None:
        self.transcript.reach(self.machine.facts(self.state))
        if not self.machine.terminal(self.state):
            for role in range(len(self.machine.roles)):
                self.transcript.allow(role, tuple(self.machine.legal(self.state, role)))

    def think(self, role: int = 0) -> None:
        """Publishes opinions of a player on the present state, with made-up figures."""
        legal = self.machine.legal(self.state, role)
        moves = self._random.sample(legal, min(5, len(legal)))
        value = 50 + 40 * self._random.random()
        for spread in (-6.0, 4.0, 0.0):
            candidates = tuple(Candidate(move, Score(value - 7 * i), 9000 >> i) for i, move in enumerate(moves))
            info = {"playouts": 250_000 + 1000 * spread, "depth": 14}
            opinion = Opinion(moves[0], Score(value + spread), False, info, candidates, tuple(moves))
            self.transcript.think(role, opinion, "tree search", "the rules are compiled to a circuit")

    def step(self, *moves: Term) -> None:
        """Makes a joint move, by default a random one."""
        machine = self.machine
        roles = range(len(machine.roles))
        joint_move = moves or tuple(self._random.choice(machine.legal(self.state, role)) for role in roles)
        self.state = machine.next(self.state, joint_move)
        self.transcript.move(tuple(joint_move), [0.5 for _ in roles])
        self._tell()

    def play(self, steps: int, *, thinking: bool = True) -> None:
        """Plays on at random."""
        for _ in range(steps):
            if self.machine.terminal(self.state):
                return
            if thinking:
                self.think()
            self.step()
        if thinking and not self.machine.terminal(self.state):
            self.think()

    def end(self) -> None:
        """Ends the match as the rules say."""
        self.transcript.end(
            "finished", [self.machine.goal(self.state, role) for role in range(len(self.machine.roles))]
        )


def start_replay(folder: Path) -> subprocess.Popen[str]:
    """`ggp-agent replay` of a folder, in a process that Ctrl-C ends."""
    return start_command("replay", str(folder))


async def told(session: aiohttp.ClientSession, address: str, key: str, *paths: str) -> bytes:
    """Returns all bytes that the pages of a match get, and those at further paths."""
    found = b""
    for path in ("", f"/{key}", f"/{key}/positions/0", f"/{key}/positions/1", f"/{key}/record", *paths):
        async with session.get(f"{address}/page/matches{path}") as response:
            found += await response.read()
    for path in ("", f"/{key}"):
        async with session.ws_connect(f"{address}/page/matches{path}") as socket:
            found += (await socket.receive_str()).encode()
    return found
