"""The server around the player, over real HTTP; objects stand in for the processes of matches."""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import logging
import re
import shutil
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agent import json_lines
from agent.commands.serve import add
from agent.kernels import progress
from agent.search.kernel_groups import CIRCUIT, TREE, playing
from agent.serving import player
from agent.serving.journal import Journal, UnfinishedMatch
from agent.serving.player import Player, ServeOptions, serve
from agent.serving.supervisor import listen
from games import kernel_cache
from protocol.messages import Busy, Dialect, Play
from protocol.server import Received
from tests.agent.serving.virtual import FakeKeeper, FakePool, FakeSearch, fake_player

START = "(START m x ((role x) (role y) (legal x a) (legal x b) (legal y c)) 600 600)"


def _has_ipv6() -> bool:
    with socket.socket(socket.AF_INET6) if socket.has_ipv6 else socket.socket() as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return False
    return True


HAS_IPV6 = _has_ipv6()
"""Whether this machine has an address of IPv6: at least its own."""


class Served:
    """A server in this process."""

    def __init__(self) -> None:
        self.port = 0
        self.handlers: dict[int, Callable[[], None]] = {}
        """Those of signals."""

    async def ask(self, text: str, path: str | None = None, peer: str = "127.0.0.1") -> tuple[int, str]:
        """Returns status and body of the reply to a message, or to a GET of a path, from an address of this machine."""
        url = f"http://127.0.0.1:{self.port}{path or '/'}"
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(local_addr=(peer, 0))) as session,
            session.post(url, data=io.BytesIO(text.encode())) if path is None else session.get(url) as reply,
        ):
            return reply.status, await reply.text()


@asynccontextmanager
async def served(options: ServeOptions, listener: socket.socket | None = None) -> AsyncIterator[Served]:
    """Serves until SIGTERM."""
    here, loop = Served(), asyncio.get_running_loop()
    started: asyncio.Future[int] = loop.create_future()
    interval = sys.getswitchinterval()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(loop, "add_signal_handler", here.handlers.__setitem__)
        serving = asyncio.create_task(serve(options, started.set_result, listener))
        await asyncio.wait({serving, started}, return_when=asyncio.FIRST_COMPLETED)
        here.port = await started
        yield here
        here.handlers[signal.SIGTERM]()
        await serving
    sys.setswitchinterval(interval)


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> FakePool:
    """The pool of the server's processes, which are sure of their moves at once."""
    return fake_player(monkeypatch, *(FakeSearch(number, proves=True) for number in range(3)))


@pytest.mark.parametrize(("network", "status"), [("127.0.0.0/8", 200), ("192.0.2.0/24", 403)])
@pytest.mark.parametrize("path", [None, "/healthz", "/metrics"])
async def test_only_allowed_addresses_are_answered(pool: FakePool, network: str, status: int, path: str | None) -> None:
    """With `--allow`, other addresses get neither replies nor pages."""
    async with served(ServeOptions(allow=(ip_network(network),))) as server:
        assert (await server.ask("(INFO)", path))[0] == status


@pytest.mark.parametrize(
    ("page", "origin"),
    [
        ("http://gamemaster.example", "http://gamemaster.example"),
        ("HTTPS://GameMaster.example:443/manager/index.html", "https://gamemaster.example"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("gamemaster.example", None),
        ("null", None),
        ("http://x:port", None),
    ],
)
def test_pages_are_named_by_their_addresses(page: str, origin: str | None) -> None:
    """`--browser` takes the address of a manager's page, whose browser spells the origin in one way."""
    parser = argparse.ArgumentParser()
    add(parser.add_subparsers())
    if origin is None:
        with pytest.raises(SystemExit):
            parser.parse_args(["serve", "--browser", page])
    else:
        assert parser.parse_args(["serve", "--browser", page]).browser == [origin]


async def test_match_is_played(pool: FakePool) -> None:
    """A whole conversation, and what the pages for machines say of it."""
    async with served(ServeOptions()) as server:
        assert await server.ask("") == (200, "( ( name ggp-agent ) ( status available ) ( species alien ) )")
        for message, reply in ((START, "ready"), ("(PLAY m NIL)", "b"), ("(PLAY m (b c))", "b")):
            assert await server.ask(message) == (200, reply)
        health = json.loads((await server.ask("", "/healthz"))[1])
        assert (health["status"], health["available"], health["turns"], health["matches"]) == ("ok", True, 2, 1)
        assert health["kernels"] == sorted(playing())
        metrics = (await server.ask("", "/metrics"))[1].splitlines()
        assert {"ggp_agent_turns_total 2.0", "ggp_agent_matches_running 1.0"} <= set(metrics)
        assert await server.ask("(STOP m (b c))") == (200, "done")
        assert json.loads((await server.ask("", "/healthz"))[1])["matches"] == 0


async def test_health_tells_what_is_wrong(pool: FakePool) -> None:
    """A server whose processes do not start, or that lacks kernels, does not call itself well."""
    async with served(ServeOptions()) as server:
        pool.problem = "a search process cannot be started: no memory"
        health = json.loads((await server.ask("", "/healthz"))[1])
        assert (health["status"], health["problems"]) == ("degraded", [pool.problem])


async def test_searches_compile_the_most_useful_kernels_where_none_are_kept(
    pool: FakePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Circuits and tree search play any game; the rest would take each search minutes."""
    monkeypatch.setattr(kernel_cache, "is_kept", lambda: False)
    async with served(ServeOptions()) as server:
        assert set(playing()) - pool.without == {CIRCUIT, TREE}
        assert "available" in (await server.ask("(INFO)"))[1]
        health = json.loads((await server.ask("", "/healthz"))[1])
        assert health["status"] == "degraded"
        assert "each process compiles its own" in health["problems"][0]


@pytest.mark.parametrize("host", [None, "::1", "127.0.0.1", "127.0.0.2"])
async def test_page_is_where_the_log_says(pool: FakePool, host: str | None, caplog: pytest.LogCaptureFixture) -> None:
    """The announced address of the page is answered, whatever the server listens on."""
    caplog.set_level(logging.INFO)
    if host == "::1" and not HAS_IPV6:
        return
    async with served(ServeOptions(), listen(host, 0)) as server:
        (announced,) = re.findall(r"matches are shown at (\S+)", caplog.text)
        async with aiohttp.ClientSession() as session, session.get(f"{announced}page/matches") as reply:
            assert reply.status == 200
        assert announced == f"http://{ {None: 'localhost', '::1': '[::1]'}.get(host, host) }:{server.port}/"


async def test_page_for_allowed_addresses_only_is_not_announced_here(
    pool: FakePool, caplog: pytest.LogCaptureFixture
) -> None:
    """Where this machine is not allowed, no address of it is named."""
    caplog.set_level(logging.INFO)
    async with served(ServeOptions(allow=(ip_network("192.0.2.0/24"),))) as server:
        assert "shown at http" not in caplog.text
        assert f"given with --allow, at port {server.port}" in caplog.text


@pytest.mark.parametrize("own", ["127.0.0.1", "::1"] if HAS_IPV6 else ["127.0.0.1"])
async def test_all_addresses_are_listened_on(pool: FakePool, own: str, caplog: pytest.LogCaptureFixture) -> None:
    """By default IPv4 and IPv6 are answered at one port, and the log spells IPv4 addresses as usual."""
    async with served(ServeOptions(), listen(None, 0)) as server:
        reader, writer = await asyncio.open_connection(own, server.port)
        writer.write(b"POST / HTTP/1.0\r\nContent-Length: 1\r\n\r\n(")
        assert b"busy" in await reader.read()
        writer.close()
    assert f"POST from {own} is no message" in caplog.text


@pytest.mark.parametrize("page", [True, False])
async def test_page_is_shown_unless_switched_off(pool: FakePool, page: bool) -> None:
    """The matches are at a path that is a message without a meaning where there is no page."""
    async with served(ServeOptions(page=page)) as server:
        await server.ask(START)
        assert ('"game"' in (await server.ask("", "/page/matches"))[1]) == page


@pytest.mark.parametrize(("allow", "status"), [("", 403), ("127.0.0.0/8", 200)])
async def test_page_is_shown_to_named_addresses_alone(
    pool: FakePool, allow: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """In a container, everybody may seem to be on this machine."""
    caplog.set_level(logging.INFO)
    named = (ip_network(allow),) if allow else ()
    async with served(ServeOptions(local_page=False, allow=named)) as server:
        assert (await server.ask("", "/page/matches"))[0] == status
        assert (await server.ask(START))[1] == "ready"
    assert ("matches are shown to nobody" in caplog.text) == (status == 403)


@pytest.mark.parametrize("bind", [True, False])
async def test_match_belongs_to_its_manager_also_after_a_restart(
    pool: FakePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bind: bool
) -> None:
    """Without `--bind-manager`, whoever knows the name of a match may go on with it."""
    monkeypatch.setattr(json_lines, "PATIENCE", 600.0)
    options = ServeOptions(journal=tmp_path, bind_manager=bind)
    async with served(options) as server:
        assert await server.ask(START) == (200, "ready")
    async with served(options) as server:
        assert await server.ask("(PLAY m NIL)", peer="127.0.0.2") == (200, "busy" if bind else "b")
        assert await server.ask("(PLAY m NIL)") == (200, "b")
        assert await server.ask("(ABORT m)", peer="127.0.0.2") == (200, "busy" if bind else "aborted")


async def test_enormous_rulesheet_is_refused(pool: FakePool, caplog: pytest.LogCaptureFixture) -> None:
    """More than a megabyte of rules is not even read; the next message is."""
    async with served(ServeOptions()) as server:
        huge = START.replace("(role y)", "(role y)" + "(fact 1)" * 140_000)
        assert await server.ask(huge) == (200, "busy")
        assert "longer than" in caplog.text
        assert await server.ask(START) == (200, "ready")


async def test_matches_outlive_their_server(
    pool: FakePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A server that is told to end leaves its matches to the next one, which needs no START."""
    monkeypatch.setattr(json_lines, "PATIENCE", 600.0)
    caplog.set_level(logging.INFO)
    options = ServeOptions(journal=tmp_path)
    async with served(options) as server:
        for message in (START, "(PLAY m NIL)", "(PLAY m (b c))"):
            await server.ask(message)
    assert len(list(tmp_path.iterdir())) == 1
    async with served(options) as server:
        assert "m: taken up again at turn 1" in caplog.text
        assert await server.ask("(PLAY m (a c))") == (200, "b")
        assert await server.ask("(ABORT m)") == (200, "aborted")
    assert list(tmp_path.iterdir()) == []


def test_restarted_server_plays_on_without_a_journal(pool: FakePool, tmp_path: Path) -> None:
    """A folder that cannot be made is an error of the first start only."""
    (tmp_path / "journal").touch()
    with pytest.raises(OSError, match="exists"):
        Player(ServeOptions(journal=tmp_path / "journal"))
    Player(ServeOptions(journal=tmp_path / "journal", restarts=1))


@pytest.mark.parametrize("there", ["file", "nothing"])
async def test_journal_that_comes_back_is_looked_at_again(
    pool: FakePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str
) -> None:
    """Matches are answered busy while their folder cannot be read or is not there, and then played on, with the
    places that there are."""
    monkeypatch.setattr(json_lines, "PATIENCE", 600.0)
    monkeypatch.setattr(player, "LOOK_SECONDS", 0.0)
    folder, aside = tmp_path / "journal", tmp_path / "aside"
    async with served(ServeOptions(journal=folder)) as server:
        for message in (START, "(PLAY m NIL)", "(PLAY m (b c))"):
            await server.ask(message)
        (file,) = folder.iterdir()
        async with asyncio.timeout(120):
            # The last lines, which no answer waits for.
            while '"turn": 1, "answer"' not in file.read_text() or '"turn": 1, "disputed"' not in file.read_text():
                await asyncio.sleep(0.01)
    folder.rename(aside)
    if there == "file":
        folder.touch()
    async with served(ServeOptions(journal=folder, restarts=1, workers=1)) as server:
        assert await server.ask("(PLAY m (a c))") == (200, "busy")
        assert await server.ask(START.replace(" m ", " new ")) == (200, "ready")
        shutil.rmtree(folder) if there == "nothing" else folder.unlink()
        aside.rename(folder)
        assert await server.ask("(PLAY m (a c))") == (200, "busy")
        assert await server.ask("(ABORT new)") == (200, "aborted")
        assert await server.ask("(PLAY m (a c))") == (200, "b")
        assert await server.ask("(ABORT m)") == (200, "aborted")
    assert list(folder.iterdir()) == []


async def test_unknown_matches_cause_no_work_on_the_disk(
    pool: FakePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the journal could be read there is no further look, else one for all that ask meanwhile, and not at once
    another one."""
    looks = 0
    whole = Journal.unfinished

    def unfinished(journal: Journal, *arguments: Any) -> Iterator[UnfinishedMatch]:
        nonlocal looks
        looks += 1
        return whole(journal, *arguments)

    monkeypatch.setattr(Journal, "unfinished", unfinished)
    monkeypatch.setattr(player, "LOOK_SECONDS", 600.0)
    async with served(ServeOptions(journal=tmp_path)) as server:
        for _ in range(5):
            assert await server.ask("(PLAY x NIL)") == (200, "busy")
        assert looks == 1
    (tmp_path / "file").touch()
    without = Player(ServeOptions(journal=tmp_path / "file", restarts=1))
    await without.open()
    asked = Play("x"), Received(0.0, Dialect(), "192.0.2.1")
    assert await asyncio.gather(*(without.handle(*asked) for _ in range(5))) == [Busy()] * 5
    assert looks == 3
    further = asyncio.create_task(without.handle(*asked))
    assert await asyncio.wait({further}, timeout=0.1) == (set(), {further})
    assert looks == 3
    further.cancel()
    await without.close()


class Compiling(FakeKeeper):
    """Compiles one group of kernels after the other; one of them cannot be compiled."""

    finished = False

    def __init__(self) -> None:
        self.ready = frozenset()
        self.failed: dict[str, str] = {}
        self._left = list(playing())

    def step(self) -> set[str]:
        """Returns the group that has become ready, or has failed."""
        name = self._left.pop(0)
        self.finished = not self._left
        if self.finished:
            self.failed = {name: "status 3"}
        else:
            self.ready |= {name}
        return {name}

    def report(self, names: object) -> progress.KernelReport:
        """Returns the progress."""
        return progress.KernelReport(0.5, None, "kernel")


async def test_searches_get_the_kernels_that_are_compiled(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """On the first start, searches do without what is not compiled yet, and without what cannot be compiled."""
    monkeypatch.setattr(progress, "STEP_SECONDS", 0.0)
    caplog.set_level(logging.INFO)
    fake_player(monkeypatch, FakeSearch(1), keeper=Compiling())
    lacking: list[int] = []
    monkeypatch.setattr(FakePool, "do_without", lambda pool, groups: lacking.append(len(groups)))
    async with served(ServeOptions()) as server, asyncio.timeout(120):
        while "all kernels compiled" not in caplog.text:
            await asyncio.sleep(0)
        assert lacking == [*range(len(playing()), 0, -1), 1]
        assert f"played without the kernels for {playing()[-1]}: status 3" in caplog.text
        assert await server.ask(START) == (200, "ready")
