"""The cost of compiling the kernels, and its budget."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from numba import njit

from agent.commands.options import DIFFERENT, OK
from agent.kernels import state
from agent.kernels.meter import Specialisation, metering
from agent.kernels.progress import prepare
from agent.search.kernel_groups import kernel_groups
from tests.instruments import compile_cost
from tests.instruments.__main__ import instrument
from tests.instruments.compile_cost import Budget, CompileCost, KernelCost, over_budget, recorded

COST = CompileCost([KernelCost("a.large", 2.0, 3.0, 2, 1000), KernelCost("a.small", 1.0, 1.0, 1, 500)], "a machine")


def test_kernels_keep_their_budget() -> None:
    """All kernels together keep the budget of specialisations and lines of LLVM IR."""
    prepare(tuple(kernel_groups())).close()
    specialisations, ir_lines = recorded()
    assert all(state.read(group).complete for group in kernel_groups())
    assert over_budget(specialisations, ir_lines) == []
    if ir_lines < 0.8 * compile_cost.BUDGET.ir_lines:
        pytest.skip("some kernels were in the cache already: `python -m tests.instruments kernels` counts them all")


def test_compilations_are_metered() -> None:
    """Each specialisation is reported once, after its callees, with its number of lines."""

    @njit
    def callee(x: int) -> int:
        return x + 1

    @njit
    def caller(x: int) -> int:
        return callee(x) + callee(x)

    told: list[Specialisation] = []
    with metering(told.append):
        assert caller(1) == 4
        assert caller(2) == 6
        assert caller(1.5) == 5.0
    assert [one.kernel.rpartition(".")[2] for one in told] == ["callee", "caller"] * 2
    assert len({(one.kernel, one.signature) for one in told}) == 4
    assert all(one.ir_lines > 10 for one in told)
    assert all(0 < one.cpu_seconds <= one.cpu_seconds_with_callees for one in told)
    assert told[1].cpu_seconds < told[1].cpu_seconds_with_callees


def test_what_exceeds_the_budget_is_said() -> None:
    """Each figure has its own limit, which it may reach."""
    assert over_budget(3, 1500, Budget(specialisations=3, ir_lines=1500)) == []
    (line,) = over_budget(3, 1500, Budget(specialisations=2, ir_lines=1500))
    assert "3 specialisations" in line
    (line,) = over_budget(3, 1500, Budget(specialisations=3, ir_lines=1499))
    assert "1,500 lines" in line


def test_the_command_prints_kernels_and_sums(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command prints a line per kernel and sums, also as JSON; `--check` fails above the budget."""
    monkeypatch.setattr(compile_cost, "measure", lambda: COST)
    monkeypatch.setattr(compile_cost, "BUDGET", Budget(specialisations=2, ir_lines=1500))
    result = tmp_path / "result.json"
    assert instrument(["kernels", "--json", str(result)]) == OK
    table = capsys.readouterr().out
    assert "a.large" in table
    assert "1,500  all 2 kernels" in table
    data = json.loads(result.read_text())
    assert (data["total_cpu_seconds"], data["total_specialisations"], data["total_ir_lines"]) == (3.0, 3, 1500)
    assert CompileCost.from_json(data) == COST
    assert instrument(["kernels", "--check"]) == DIFFERENT
    assert "the budget is 2" in capsys.readouterr().out
