"""The engine of the family of heaps."""

from __future__ import annotations

from agent.search.kernel_groups import KernelGroup

loaded: list[str] = []
"""Grows when the kernels are loaded."""

KERNELS = KernelGroup("heap", lambda: loaded.append("heap"))
