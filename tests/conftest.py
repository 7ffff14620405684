"""Fixtures shared by all tests."""

from __future__ import annotations

import io
import math
import os
import re
import time
from collections.abc import Callable
from contextlib import nullcontext, redirect_stderr
from pathlib import Path

import pytest

from agent.kernels.progress import prepare
from agent.search.kernel_groups import CIRCUIT, PLAYOUTS, kernel_groups

TESTS = Path(__file__).resolve().parent
SHARED = TESTS.parents[1] / "shared"

MANY_TESTS = 300
"""From so many on, kernels are compiled before the first test."""

NEEDS = {"games": (CIRCUIT, PLAYOUTS, "reversi", "blokbox"), "generated": (CIRCUIT,), "agent": tuple(kernel_groups())}
"""Groups of kernels that the tests of a folder need."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--skips`."""
    parser.addoption("--skips", metavar="REGEX", help="fail where a test is skipped for any other reason than these")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Compiles the kernels on all cores before a large run, which would compile them one by one."""
    if session.config.option.collectonly or len(session.items) < MANY_TESTS:
        return
    folders = {item.path.relative_to(TESTS).parts[0] for item in session.items}
    needed = {group for folder in folders for group in NEEDS.get(folder, ())}
    # Each of pytest-xdist's processes comes here and waits; one of them says so.
    quiet = os.environ.get("PYTEST_XDIST_WORKER", "gw0") != "gw0"
    with redirect_stderr(io.StringIO()) if quiet else nullcontext():
        prepare(needed).close()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails the run where a test was skipped for a reason that `--skips` does not expect."""
    expected = session.config.option.skips
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if expected is None or reporter is None:
        return
    reasons = {str(report.longrepr[2]) for report in reporter.stats.get("skipped", ())}
    unexpected = sorted(reason for reason in reasons if not re.search(expected, reason))
    for reason in unexpected:
        reporter.line(f"unexpected skip: {reason}", red=True)
    if unexpected and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session", autouse=True)
def _no_memory(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test meets what was learnt in matches before, nor leaves anything to later ones; processes inherit this."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of third-party rulesheets and their reference traces; tests that need it skip where it is absent."""
    folder = SHARED / "corpus"
    if not folder.is_dir():
        pytest.skip(f"needs the rulesheet corpus at {folder}")
    return folder


@pytest.fixture(scope="session")
def wire() -> Path:
    """The folder of recorded conversations with real managers; tests that need it skip where it is absent."""
    folder = SHARED / "wire"
    if not folder.is_dir():
        pytest.skip(f"needs the recorded conversations at {folder}")
    return folder


@pytest.fixture
def grows_by_less_than() -> Callable[[float, Callable[[int], object], int], bool]:
    """Whether some work takes less than `factor` times the CPU time for 4 n as for n: 4 if linear, 16 if quadratic.

    Other processes can only add to what is measured: it is measured again until the least of all times show it.
    """

    def measure(factor: float, work: Callable[[int], object], n: int) -> bool:
        def seconds(size: int) -> float:
            begin = time.process_time()
            work(size)
            return time.process_time() - begin

        small = large = math.inf
        for _ in range(30):
            small, large = min(small, seconds(n)), min(large, seconds(4 * n))
            if large < factor * small:
                return True
        return False

    return measure
