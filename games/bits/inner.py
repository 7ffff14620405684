"""Kernels that only kernels call.

Numba gives every kernel a wrapper for Python, which takes every argument apart: for a tuple of thirty arrays it is
larger than most kernels, and half of all LLVM IR was wrappers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.registry import CPUDispatcher

from games.bits.compiling import INNER, KERNEL


class _InnerKernel(CPUDispatcher):
    """A kernel without a wrapper for Python, where a call would be a jump to address 0."""

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"only kernels can call {self.py_func.__qualname__}")


def inner_kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorates a kernel that only kernels call; Python gets a `TypeError`.

    The options are those of `INNER`; the given ones come on top.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = njit(**{**INNER, **options})(function)
        if isinstance(kernel, CPUDispatcher):
            kernel.__class__ = _InnerKernel
        return kernel

    return decorate


def step(function: Callable[..., Any]) -> Any:
    """Decorates a step of one kernel: Numba pastes it into its only caller, and never compiles it by itself.

    Each further call would be typed and compiled again, so that all but a few lines are for `inner_kernel` there.
    """
    return njit(inline="always", **KERNEL)(function)
