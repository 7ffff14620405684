"""Removal of a damaged kernel cache."""

from __future__ import annotations

from agent.kernels import state
from agent.search.kernel_groups import kernel_groups
from games.kernel_cache import cache_folder

_KERNELS = (".nbi", ".nbc")
"""Numba's files: index and code."""


def discard_kernels() -> None:
    """Removes all compiled kernels and their progress files. Running processes are not affected. Raises `OSError`."""
    for group in kernel_groups():
        state.forget(group)
    for path in list(cache_folder().rglob("*")):
        if path.suffix in _KERNELS:
            path.unlink(missing_ok=True)
