"""What compiling the kernels costs, and its budget."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.cli import main
from agent.commands.options import DIFFERENT, OK, WRONG_INPUT
from agent.measuring import compile_cost
from agent.measuring.compile_cost import Budget, CompileCost, KernelCost, measure_once

COST = CompileCost([KernelCost("a.large", 2.0, 3.0, 2, 1000), KernelCost("a.small", 1.0, 1.0, 1, 500)], "a machine")


@pytest.mark.compiles_kernels
def test_kernels_keep_their_budget() -> None:
    """All kernels together have no more specialisations, and no more lines of LLVM IR, than the budget allows.

    Runs before all other tests: what it compiles, they load.
    """
    cost = measure_once()
    assert cost.over_budget() == []
    assert cost.specialisations >= len(cost.kernels) > 50
    assert all(kernel.ir_lines > 0 for kernel in cost.kernels)
    # The second time, it is read.
    assert measure_once() == cost


def test_what_exceeds_the_budget_is_said() -> None:
    """Each count is compared with its own limit; what reaches it exactly is within."""
    assert COST.over_budget(Budget(specialisations=3, ir_lines=1500)) == []
    (line,) = COST.over_budget(Budget(specialisations=2, ir_lines=1500))
    assert "3 specialisations" in line
    (line,) = COST.over_budget(Budget(specialisations=3, ir_lines=1499))
    assert "1,500 lines" in line


def test_the_command_prints_kernels_and_sums(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line per kernel and one for all; the same as JSON; `--check` fails above the budget."""
    monkeypatch.setattr(compile_cost, "measure", lambda: COST)
    monkeypatch.setattr(compile_cost, "BUDGET", Budget(specialisations=2, ir_lines=1500))
    result = tmp_path / "result.json"
    assert main(["bench", "--kernels", "--json", str(result)]) == OK
    table = capsys.readouterr().out
    assert "a.large" in table
    assert "1,500  all 2 kernels" in table
    data = json.loads(result.read_text())
    assert (data["total_cpu_seconds"], data["total_specialisations"], data["total_ir_lines"]) == (3.0, 3, 1500)
    assert CompileCost.from_json(data) == COST
    assert main(["bench", "--kernels", "--check"]) == DIFFERENT
    assert "the budget is 2" in capsys.readouterr().out


def test_options_that_make_no_sense_together_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Kernels are measured without games, and only they have a budget."""
    assert main(["bench", "--check"]) == WRONG_INPUT
    assert "--kernels" in capsys.readouterr().err
    assert main(["bench", "tic_tac_toe", "--kernels"]) == WRONG_INPUT
    assert "games" in capsys.readouterr().err
