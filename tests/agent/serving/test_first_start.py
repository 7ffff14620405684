"""A real server whose kernels are not compiled yet. `test_serve` and `test_match` have the same without processes."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent.kernels import state
from agent.kernels.progress import prepare
from agent.search.kernel_groups import CIRCUIT, kernel_groups
from games.kernel_cache import cache_folder

if TYPE_CHECKING:
    from tests.agent.conftest import Game, StartServer


@pytest.fixture
def circuits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[contextlib.ExitStack]:
    """A kernel cache whose circuits' kernels may not be used until this is closed.

    The kernels are there, so that compiling is a matter of moments; but nobody knows, and another program seems to be
    compiling them.
    """
    prepare(tuple(kernel_groups())).close()
    cache = tmp_path / cache_folder().name
    shutil.copytree(cache_folder(), cache, ignore=shutil.ignore_patterns(f"{CIRCUIT}.json"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
    with contextlib.ExitStack() as stack:
        assert stack.enter_context(state.claim(CIRCUIT))
        yield stack


@pytest.mark.e2e
def test_plays_before_its_kernels_are_compiled(
    circuits: contextlib.ExitStack, start_server: StartServer, tic_tac_toe: Game
) -> None:
    """The interpreter plays first, then the circuit; INFO says `available` once any game could be played."""
    server = start_server(wait=False)
    server.wait_for_log("search process [0-9]+ is warm")
    assert "busy" in server.send("(INFO)").text
    assert server.send(tic_tac_toe.start("m", clocks="600 2")).text == "ready"
    first = server.process_of("m")
    move = server.send("(PLAY m NIL)").move
    assert move in tic_tac_toe.legal()
    last = tic_tac_toe.advance(move, "noop")
    circuits.close()
    server.wait_for_log("all kernels compiled")
    server.wait_until_available()
    assert server.send(f"(PLAY m {last})").text == "noop"
    server.wait_for_log("m: another search goes on")
    last = tic_tac_toe.advance("noop", tic_tac_toe.legal(1)[0])
    assert server.send(f"(PLAY m {last})").move in tic_tac_toe.legal()
    assert server.process_of("m") != first
    server.wait_until_available()
