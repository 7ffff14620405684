"""Cost of compiling the kernels: CPU time, specialisations and lines of LLVM IR of each; and its budget.

A process of its own compiles them into an empty cache. The budget is one of specialisations and IR lines (see
`agent.kernels.meter`), which do not depend on the machine. CPU time is for comparisons side by side.
"""

from __future__ import annotations

import gc
import json
import platform
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from agent.kernels import state
from agent.kernels.meter import Specialisation, metering
from agent.search.kernel_groups import kernel_groups
from games.child_process import module_environment


@dataclass(frozen=True)
class Budget:
    """Largest cost of all kernels together."""

    specialisations: int
    ir_lines: int


BUDGET = Budget(specialisations=190, ir_lines=384_000)
"""A little more than `python -m tests.instruments kernels` counts. Lower it when kernels become cheaper; a commit that
raises it says what that buys. About 43,000 of the lines are alpha-beta on circuits (`agent.search.pvs`)."""


@dataclass
class KernelCost:
    """Cost of one kernel, over all its specialisations."""

    name: str
    """Name of the function, with its module."""
    cpu_seconds: float = 0.0
    """Without its callees."""
    cpu_seconds_with_callees: float = 0.0
    """With its callees; a callee counts for the caller that came first."""
    specialisations: int = 0
    ir_lines: int = 0


@dataclass
class CompileCost:
    """Cost of all kernels."""

    kernels: list[KernelCost] = field(default_factory=list)
    """Most expensive first."""
    machine: str = ""
    """Processor, Python, Numba and LLVM bindings."""

    @property
    def cpu_seconds(self) -> float:
        """Sum over all kernels."""
        return sum(kernel.cpu_seconds for kernel in self.kernels)

    @property
    def specialisations(self) -> int:
        """Sum over all kernels."""
        return sum(kernel.specialisations for kernel in self.kernels)

    @property
    def ir_lines(self) -> int:
        """Sum over all kernels."""
        return sum(kernel.ir_lines for kernel in self.kernels)

    def as_json(self) -> dict[str, object]:
        """Returns everything as JSON data."""
        return {
            "machine": self.machine,
            "total_cpu_seconds": round(self.cpu_seconds, 3),
            "total_specialisations": self.specialisations,
            "total_ir_lines": self.ir_lines,
            "kernels": [asdict(kernel) for kernel in self.kernels],
        }

    @classmethod
    def from_json(cls, data: Any) -> CompileCost:
        """Inverse of `as_json`. Raises `KeyError` and `TypeError` for anything else."""
        return cls([KernelCost(**kernel) for kernel in data["kernels"]], data["machine"])


def measure() -> CompileCost:
    """Compiles all kernels in a process of its own, one after the other, into a temporary cache.

    Raises `subprocess.CalledProcessError` where the process fails.
    """
    with tempfile.TemporaryDirectory(prefix="ggp-agent-kernels-") as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.instruments.compile_cost"],
            env={**module_environment(), "NUMBA_CACHE_DIR": folder},
            stdout=subprocess.PIPE,
            check=True,
        )
    return CompileCost.from_json(json.loads(done.stdout))


def over_budget(specialisations: int, ir_lines: int, budget: Budget | None = None) -> list[str]:
    """Returns a line for each figure that exceeds the budget (None: `BUDGET`)."""
    budget = budget or BUDGET
    figures = (
        ("specialisations", specialisations, budget.specialisations),
        ("lines of LLVM IR", ir_lines, budget.ir_lines),
    )
    return [
        f"kernels have {count:,} {what}, the budget is {most:,}: see `python -m tests.instruments kernels`"
        for what, count, most in figures
        if count > most
    ]


def recorded() -> tuple[int, int]:
    """Returns specialisations and IR lines of all kernels, as recorded when the kernel cache was filled."""
    # Two groups may have compiled the same function at the same time.
    lines = {(name, types): count for group in kernel_groups() for name, types, count in state.read(group).compiled}
    return len(lines), sum(lines.values())


def print_table(cost: CompileCost) -> None:
    """Prints a line per kernel, and sums."""
    print(f"kernels compiled into an empty cache, by one process ({cost.machine})")
    print(f"{'CPU s':>8} {'+ callees':>9} {'specialisations':>15} {'IR lines':>9}  kernel")
    for kernel in cost.kernels:
        print(
            f"{kernel.cpu_seconds:8.2f} {kernel.cpu_seconds_with_callees:9.2f} {kernel.specialisations:15d}"
            f" {kernel.ir_lines:9,d}  {kernel.name}"
        )
    name = f"all {len(cost.kernels)} kernels"
    print(f"{cost.cpu_seconds:8.2f} {'':9} {cost.specialisations:15d} {cost.ir_lines:9,d}  {name}", flush=True)


# -- the process that compiles ----------------------------------------------------------------------------------------


def _compile_all() -> CompileCost:
    """Compiles and counts all kernels."""
    kernels: dict[str, KernelCost] = {}

    def count(compiled: Specialisation) -> None:
        kernel = kernels.setdefault(compiled.kernel, KernelCost(compiled.kernel))
        kernel.cpu_seconds += compiled.cpu_seconds
        kernel.cpu_seconds_with_callees += compiled.cpu_seconds_with_callees
        kernel.specialisations += 1
        kernel.ir_lines += compiled.ir_lines

    with metering(count):
        for group in kernel_groups().values():
            group.load()
    ordered = sorted(kernels.values(), key=lambda kernel: -kernel.cpu_seconds)
    for kernel in ordered:
        kernel.cpu_seconds = round(kernel.cpu_seconds, 4)
        kernel.cpu_seconds_with_callees = round(kernel.cpu_seconds_with_callees, 4)
    return CompileCost(ordered, _machine())


def _machine() -> str:
    """Returns processor and versions, for people."""
    import llvmlite.binding

    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    target = llvmlite.binding.get_host_cpu_name()
    versions = (f"{package} {version(package)}" for package in ("numba", "llvmlite"))
    return ", ".join((f"{name} ({target})", f"Python {platform.python_version()}", *versions))


if __name__ == "__main__":
    # As in the processes that compile the groups.
    gc.disable()
    json.dump(_compile_all().as_json(), sys.stdout)
