"""Kernels that only kernels call.

Numba gives every kernel a Python wrapper that unpacks every argument. For a tuple of thirty arrays the wrapper is
larger than most kernels: wrappers were half of all LLVM IR.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.registry import CPUDispatcher

from games.bits.compiling import INNER, KERNEL


class _InnerKernel(CPUDispatcher):
    """A kernel without a Python wrapper; a call from Python would jump to address 0."""

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"only kernels can call {self.py_func.__qualname__}")


def inner_kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorates a kernel that only kernels call; calls from Python raise `TypeError`.

    `options` override those of `INNER`.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = njit(**{**INNER, **options})(function)
        if isinstance(kernel, CPUDispatcher):
            kernel.__class__ = _InnerKernel
        return kernel

    return decorate


def step(function: Callable[..., Any]) -> Any:
    """Decorates a step of one kernel: Numba inlines it into its only caller, and never compiles it by itself.

    Every call is typed and compiled anew. With several callers, `inner_kernel` suits all but a few lines.
    """
    return njit(inline="always", **KERNEL)(function)
