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
from agent.search.kernel_groups import kernel_groups, playing
from games.kernel_cache import cache_folder

if TYPE_CHECKING:
    from tests.agent.conftest import Game, StartServer


@pytest.fixture
def unready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, contextlib.ExitStack]]:
    """A kernel cache of which nothing may be used until the group's entry here is closed.

    The kernels are there, so that compiling is a matter of moments; but nobody knows, and another program seems to be
    compiling them.
    """
    prepare(tuple(kernel_groups())).close()
    cache = tmp_path / cache_folder().name
    shutil.copytree(cache_folder(), cache, ignore=shutil.ignore_patterns("*.json"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
    with contextlib.ExitStack() as stack:
        locks = {name: stack.enter_context(contextlib.ExitStack()) for name in playing()}
        for name, lock in locks.items():
            assert lock.enter_context(state.claim(name))
        yield locks


@pytest.mark.e2e
def test_plays_before_its_kernels_are_compiled(
    unready: dict[str, contextlib.ExitStack], start_server: StartServer, tic_tac_toe: Game
) -> None:
    """The interpreter plays first, then the circuit with the engines there are, then tree search.

    INFO says `available` once any game could be played, though the native families' kernels are missing.
    """
    server = start_server(wait=False)
    server.wait_for_log("worker [0-9]+ is warm")
    assert "busy" in server.send("(INFO)").text
    assert server.send(tic_tac_toe.start("m", clocks="600 2")).text == "ready"
    server.wait_for_log("m: ready after .* engine monte-carlo")
    first = server.worker_of("m")
    move = server.send("(PLAY m NIL)").move
    assert move in tic_tac_toe.legal()
    last = tic_tac_toe.advance(move, "noop")

    unready["circuit"].close()
    server.wait_for_log("m: worker [0-9]+ takes over")
    second = server.worker_of("m")
    assert second != first
    assert server.send(f"(PLAY m {last})").text == "noop"
    last = tic_tac_toe.advance("noop", tic_tac_toe.legal(1)[0])

    server.forget_log()
    unready["tree"].close()
    server.wait_for_log("m: worker [0-9]+ takes over")
    server.wait_for_log("m: ready after .* engine tree search")
    assert server.send(f"(PLAY m {last})").move in tic_tac_toe.legal()

    # Native engines and the planner are of no use in this match, nor is alpha-beta where tree search has proven its
    # result: the worker and what it has searched are kept.
    server.forget_log()
    unready["planning"].close()
    server.wait_for_log("worker [0-9]+ is warm")
    assert "busy" in server.send("(INFO)").text
    unready["alpha-beta"].close()
    server.wait_for_log("INFO available")
    for name in ("reversi", "blokbox"):
        unready[name].close()
    server.wait_for_log("all kernels compiled")
    server.wait_for_log("m: worker [0-9]+ joins")
    server.wait_for_log("m: worker [0-9]+ plays on")
    assert "takes over" not in server.log()
