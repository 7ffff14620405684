"""Groups are compiled in order, once, on all cores, and failures are noticed."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from agent.kernels import build, keeper, state
from agent.kernels.keeper import KernelKeeper
from agent.kernels.state import BuildProgress
from agent.search.kernel_groups import KernelGroup
from games.child_process import ChildProcess
from games.kernel_cache import cache_folder
from tests.processes import until

COMPLETE = """
from agent.kernels import state
from agent.kernels.state import BuildProgress
from games.child_process import ChildProcess
from games.kernel_cache import cache_folder
# It takes a while to find out.
state.toolchain = lambda: {toolchain!r}
with state.claim({name!r}) as mine:
    if mine and not state.read({name!r}).complete:
        with open(cache_folder() / "log", "a") as log:
            print({name!r}, file=log)
        state.write({name!r}, BuildProgress(state.toolchain(), (("agent.kernel", "", 9),), True))
"""

GROUPS = {
    name: KernelGroup(name, lambda: None, after, 10, 2.0)
    for name, after in {"circuit": None, "tree": "circuit", "reversi": None, "blokbox": None}.items()
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty kernel cache, and two cores."""
    folder = tmp_path / cache_folder().name
    folder.mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    monkeypatch.setattr(keeper, "_cores", lambda: 2)
    return folder


def execute(pipe: Connection, code: str) -> None:
    """Runs some code."""
    exec(code, {})


class Processes:
    """Starts processes that run some code in place of the compiler, and notes them."""

    def __init__(self, code: str = COMPLETE) -> None:
        self.started: list[str] = []
        self._code = code

    def start(self, name: str) -> ChildProcess:
        self.started.append(name)
        code = self._code.format(name=name, toolchain=state.toolchain())
        return ChildProcess(execute, code, method="spawn")


def run(*keepers: KernelKeeper) -> None:
    def step() -> bool:
        for each in keepers:
            each.step()
        return all(each.finished for each in keepers)

    until(step)


def test_all_groups_are_compiled_each_after_what_it_calls() -> None:
    processes = Processes()
    keeper = KernelKeeper(GROUPS, groups=GROUPS, start=processes.start)
    keeper.step()
    assert processes.started == ["circuit", "reversi"]
    run(keeper)
    assert keeper.ready == set(GROUPS)
    assert sorted(processes.started) == sorted(GROUPS)
    assert processes.started.index("tree") > processes.started.index("circuit")
    assert keeper.report(GROUPS).fraction == 1


def test_what_is_called_comes_along() -> None:
    processes = Processes()
    keeper = KernelKeeper(["tree"], groups=GROUPS, start=processes.start)
    run(keeper)
    assert processes.started == ["circuit", "tree"]


def test_what_is_in_the_cache_is_not_compiled_again() -> None:
    run(KernelKeeper(["tree"], groups=GROUPS, start=Processes().start))
    processes = Processes()
    keeper = KernelKeeper(["tree", "circuit"], groups=GROUPS, start=processes.start)
    assert keeper.finished
    assert keeper.ready == {"circuit", "tree"}
    assert not processes.started


def test_what_another_program_compiles_is_waited_for() -> None:
    processes = Processes()
    keeper = KernelKeeper(["circuit"], groups=GROUPS, start=processes.start)
    with state.claim("circuit") as mine:
        assert mine
        for compiled in range(1, 4):
            state.write("circuit", BuildProgress(state.toolchain(), (("agent.kernel", "", 9),) * compiled))
            assert not keeper.step()
            assert keeper.report(["circuit"]).fraction == compiled / 10
            assert keeper.report(["circuit"]).latest == "agent.kernel"
        state.write("circuit", BuildProgress(state.toolchain(), complete=True))
    assert keeper.step() == {"circuit"}
    assert keeper.finished
    assert not processes.started


def test_what_another_program_gave_up_is_compiled() -> None:
    processes = Processes()
    keeper = KernelKeeper(["circuit"], groups=GROUPS, start=processes.start)
    with state.claim("circuit"):
        keeper.step()
    run(keeper)
    assert processes.started == ["circuit"]
    assert keeper.ready == {"circuit"}


def test_two_programs_compile_once(cache: Path) -> None:
    one, other = (KernelKeeper(GROUPS, groups=GROUPS, start=Processes().start) for _ in range(2))
    run(one, other)
    assert one.ready == other.ready == set(GROUPS)
    assert sorted((cache / "log").read_text().split()) == sorted(GROUPS)


def test_a_process_that_dies_is_told_of() -> None:
    keeper = KernelKeeper(["circuit"], groups=GROUPS, start=Processes("import os; os._exit(3)").start)
    run(keeper)
    assert not keeper.ready
    assert "status 3" in keeper.failed["circuit"]
    assert keeper.report(["circuit"]).fraction == 1


def test_sources_that_change_meanwhile_are_told_of() -> None:
    """A process with other sources than this one fills a cache that this one does not read: it is no use to go on."""
    keeper = KernelKeeper(["circuit"], groups=GROUPS, start=Processes("pass").start)
    run(keeper)
    assert "sources have changed" in keeper.failed["circuit"]


def test_a_folder_that_cannot_be_written_is_told_of(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache / "file" / "below"))
    processes = Processes()
    keeper = KernelKeeper(["circuit"], groups=GROUPS, start=processes.start)
    run(keeper)
    assert keeper.failed
    assert not processes.started


def test_processes_end_with_their_keeper() -> None:
    processes = Processes("import time; time.sleep(1000)")
    started: list[ChildProcess] = []

    def start(name: str) -> ChildProcess:
        started.append(processes.start(name))
        return started[-1]

    keeper = KernelKeeper(GROUPS, groups=GROUPS, start=start)
    keeper.step()
    keeper.close()
    assert [process.status for process in started] == [-9, -9]


def test_the_compiling_process_writes_down_what_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kernel that is compiled counts; a second call does nothing."""
    from numba import njit

    loads = []

    def load() -> None:
        @njit
        def kernel(x: int) -> int:
            return x + 1

        loads.append(kernel(len(loads)))

    monkeypatch.setattr(build, "kernel_groups", lambda: {"circuit": KernelGroup("circuit", load, None, 1, 1.0)})
    build.build("circuit")
    progress = state.read("circuit")
    assert progress.complete
    ((name, _, lines),) = progress.compiled
    assert name.endswith("kernel")
    assert lines > 10
    build.build("circuit")
    assert loads == [1]
