"""What compiling the kernels costs: CPU time, specialisations and lines of LLVM IR of each; and the budget for it.

Kernels are compiled by a process of its own into a cache that is empty, so that nothing is loaded instead. What is
counted does not depend on the machine: a *specialisation* is one compilation of a function for certain types of
arguments, and its *IR lines* are those that Numba hands to LLVM, before any optimisation, wrappers included. CPU time
does depend on it, and is for comparisons side by side.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from games.kernel_cache import cache_folder, sources_digest


@dataclass(frozen=True)
class Budget:
    """The most that all kernels together may cost to compile."""

    specialisations: int
    ir_lines: int


BUDGET = Budget(specialisations=315, ir_lines=565_000)
"""A little more than `ggp-agent bench --kernels` counts. Who makes kernels cheaper lowers it; who raises it says in the
commit message what that buys."""


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

    def over_budget(self, budget: Budget | None = None) -> list[str]:
        """What exceeds the budget (None: `BUDGET`), a line each; nothing if all is well."""
        budget = budget or BUDGET
        figures = (
            ("specialisations", self.specialisations, budget.specialisations),
            ("lines of LLVM IR", self.ir_lines, budget.ir_lines),
        )
        return [
            f"kernels have {count:,} {what}, the budget is {most:,}: see `ggp-agent bench --kernels`"
            for what, count, most in figures
            if count > most
        ]


def measure(folder: Path | None = None) -> CompileCost:
    """Compiles all kernels in a process of its own, one after the other.

    `folder` is a kernel cache that is empty; None: a temporary one. Raises `subprocess.CalledProcessError` where the
    process fails.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="ggp-agent-kernels-") as name:
            return measure(Path(name))
    root = str(Path(__file__).resolve().parents[2])
    search_path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-m", "agent.measuring.compile_cost"],
        env={**os.environ, "PYTHONPATH": search_path, "NUMBA_CACHE_DIR": str(folder)},
        stdout=subprocess.PIPE,
        check=True,
    )
    return CompileCost.from_json(json.loads(done.stdout))


def measure_once() -> CompileCost:
    """The cost of these sources' kernels as it was measured before; measures it where it never was.

    The result is kept in the kernel cache. Where that holds no kernels yet, they are compiled into it, so that whoever
    needs them afterwards does not compile them again.
    """
    folder = cache_folder()
    kept = folder / f"compile-cost-{sources_digest()}.json"
    try:
        return CompileCost.from_json(json.loads(kept.read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    cost = measure(None if any(folder.rglob("*.nbi")) else folder)
    # Another process may be doing the same: one of them wins, and neither sees half a file.
    draft = kept.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(cost.as_json()))
    draft.replace(kept)
    return cost


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
    from numba.core import event
    from numba.core.codegen import CPUCodeLibrary

    kernels: dict[str, KernelCost] = {}
    under_way: list[_Compilation] = []

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            function = event.data["dispatcher"].py_func
            name = f"{function.__module__}.{function.__qualname__}"
            under_way.append(_Compilation(kernels.setdefault(name, KernelCost(name)), time.process_time()))

        def on_end(self, event: Any) -> None:
            this = under_way.pop()
            seconds = time.process_time() - this.begin
            this.kernel.specialisations += 1
            this.kernel.cpu_seconds += seconds - this.callees
            # A function that has another version of itself compiled is not counted twice.
            if all(outer.kernel is not this.kernel for outer in under_way):
                this.kernel.cpu_seconds_with_callees += seconds
            if under_way:
                under_way[-1].callees += seconds

    add_ir_module: Any = CPUCodeLibrary.add_ir_module

    def count_lines(library: Any, module: Any) -> Any:
        if under_way:
            begin = time.process_time()
            under_way[-1].kernel.ir_lines += str(module).count("\n")
            counting = time.process_time() - begin
            for compilation in under_way:
                compilation.begin += counting
        return add_ir_module(library, module)

    # Numba tells of compilations, but not of their size.
    setattr(CPUCodeLibrary, "add_ir_module", count_lines)  # noqa: B010
    listener: Any = Listener()
    with event.install_listener("numba:compile", listener):
        from agent.search import registry
        from games.gdl.compile import warm_kernels

        registry.warm_up()
        # Only benchmarks and descriptions of games play out that many matches.
        warm_kernels().random_playouts(playouts=1)
    ordered = sorted(kernels.values(), key=lambda kernel: -kernel.cpu_seconds)
    for kernel in ordered:
        kernel.cpu_seconds = round(kernel.cpu_seconds, 4)
        kernel.cpu_seconds_with_callees = round(kernel.cpu_seconds_with_callees, 4)
    return CompileCost(ordered, _machine())


@dataclass
class _Compilation:
    kernel: KernelCost
    begin: float
    """CPU time of the process, as if counting took none."""
    callees: float = 0.0
    """CPU seconds of the compilations inside this one."""


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
    json.dump(_compile_all().as_json(), sys.stdout)
