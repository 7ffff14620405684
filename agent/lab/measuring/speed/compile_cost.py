"""What compiling the kernels costs: CPU time, specialisations and lines of LLVM IR of each; and the budget for it.

Kernels are compiled by a process of its own into a cache that is empty, so that nothing is loaded instead. The budget
is of what does not depend on the machine: specialisations and IR lines (see `agent.kernels.meter`). CPU time does
depend on it, and is for comparisons side by side.
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
from agent.processes import module_environment
from agent.search.kernel_groups import kernel_groups


@dataclass(frozen=True)
class Budget:
    """The most that all kernels together may cost to compile."""

    specialisations: int
    ir_lines: int


BUDGET = Budget(specialisations=210, ir_lines=417_000)
"""A little more than `ggp-agent bench --kernels` counts. Who makes kernels cheaper lowers it; who raises it says in the
commit message what that buys. About 46,000 of the lines are alpha-beta on circuits (`agent.search.pvs`)."""


@dataclass
class KernelCost:
    """What one kernel costs, over all its specialisations."""

    name: str
    """Of the function, with its module."""
    cpu_seconds: float = 0.0
    """Without what had to be compiled for it."""
    cpu_seconds_with_callees: float = 0.0
    """With what had to be compiled for it; a callee counts for the caller that came first."""
    specialisations: int = 0
    ir_lines: int = 0


@dataclass
class CompileCost:
    """What all kernels cost."""

    kernels: list[KernelCost] = field(default_factory=list)
    """The dearest first."""
    machine: str = ""
    """Processor, Python, Numba and LLVM bindings."""

    @property
    def cpu_seconds(self) -> float:
        """The sum over all kernels."""
        return sum(kernel.cpu_seconds for kernel in self.kernels)

    @property
    def specialisations(self) -> int:
        """The sum over all kernels."""
        return sum(kernel.specialisations for kernel in self.kernels)

    @property
    def ir_lines(self) -> int:
        """The sum over all kernels."""
        return sum(kernel.ir_lines for kernel in self.kernels)

    def as_json(self) -> dict[str, object]:
        """Everything as JSON data; `from_json` is the inverse."""
        return {
            "machine": self.machine,
            "total_cpu_seconds": round(self.cpu_seconds, 3),
            "total_specialisations": self.specialisations,
            "total_ir_lines": self.ir_lines,
            "kernels": [asdict(kernel) for kernel in self.kernels],
        }

    @classmethod
    def from_json(cls, data: Any) -> CompileCost:
        """The inverse of `as_json`. Raises KeyError and TypeError for anything else."""
        return cls([KernelCost(**kernel) for kernel in data["kernels"]], data["machine"])


def measure() -> CompileCost:
    """Compiles all kernels in a process of its own, one after the other, into a cache that is thrown away.

    Raises `subprocess.CalledProcessError` where the process fails.
    """
    with tempfile.TemporaryDirectory(prefix="ggp-agent-kernels-") as folder:
        done = subprocess.run(
            [sys.executable, "-m", "agent.lab.measuring.speed.compile_cost"],
            env={**module_environment(), "NUMBA_CACHE_DIR": folder},
            stdout=subprocess.PIPE,
            check=True,
        )
    return CompileCost.from_json(json.loads(done.stdout))


def over_budget(specialisations: int, ir_lines: int, budget: Budget | None = None) -> list[str]:
    """What exceeds the budget (None: `BUDGET`), a line each; nothing if all is well."""
    budget = budget or BUDGET
    figures = (
        ("specialisations", specialisations, budget.specialisations),
        ("lines of LLVM IR", ir_lines, budget.ir_lines),
    )
    return [
        f"kernels have {count:,} {what}, the budget is {most:,}: see `ggp-agent bench --kernels`"
        for what, count, most in figures
        if count > most
    ]


def recorded() -> tuple[int, int]:
    """Specialisations and IR lines of all kernels, as they were written down when the kernel cache was filled."""
    # Two groups may have compiled the same function at the same time.
    lines = {(name, types): count for group in kernel_groups() for name, types, count in state.read(group).compiled}
    return len(lines), sum(lines.values())


def print_table(cost: CompileCost) -> None:
    """Prints a line per kernel, and the sums."""
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
    """Compiles what playing and measuring need, and counts."""
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
    """Processor and versions, for people."""
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
