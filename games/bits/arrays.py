"""Groups of arrays for kernels, whose fields are declared and allocated by one table.

For instance:

    class Workspace(NamedTuple):
        slots: NDArray[np.uint64] = array(np.uint64, "slots")
        goals: NDArray[np.float64] = array(np.float64, 64, "roles")

    workspace = allocate(Workspace, slots=1000, roles=2)

What a field has by default is only how it is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple, TypeVar

import numpy as np

_LINE = 64
"""Bytes of a cache line."""


class _Array(NamedTuple):
    """An array to be made."""

    dtype: Any
    shape: tuple[int | str, ...]
    fill: float

    def make(self, sizes: dict[str, int]) -> Any:
        """Returns the array, from the start of a cache line, so that vector loads do not straddle two."""
        shape = [sizes[one] if isinstance(one, str) else one for one in self.shape]
        dtype = np.dtype(self.dtype)
        size = dtype.itemsize * prod(shape)
        buffer = np.zeros(size + _LINE, np.uint8)
        offset = -buffer.ctypes.data % _LINE
        made = buffer[offset : offset + size].view(dtype).reshape(shape)
        if self.fill:
            made[...] = self.fill
        return made


class _Group(NamedTuple):
    """A group of arrays to be made."""

    kind: Any

    def make(self, sizes: dict[str, int]) -> Any:
        """Returns the group."""
        return allocate(self.kind, None, **sizes)


Group = TypeVar("Group", bound=tuple[Any, ...])


def array(dtype: Any, *shape: int | str, fill: float = 0) -> Any:
    """Declares a field: an array of this type and shape, in which a name stands for a size given to `allocate`."""
    return _Array(dtype, shape, fill)


def group(kind: type[tuple[Any, ...]]) -> Any:
    """Declares a field: a group of arrays, allocated with the same sizes."""
    return _Group(kind)


def allocate(kind: type[Group], given: Mapping[str, Any] | None = None, **sizes: int) -> Group:
    """Returns a group with all its arrays made, of these sizes, but for the fields that are `given`.

    Raises `KeyError` for a size that a field names and that is missing.
    """
    fields: dict[str, Any] = dict(given or {})
    for name, declared in kind._field_defaults.items():  # type: ignore[attr-defined]
        if name not in fields:
            fields[name] = declared.make(sizes)
    return kind(**fields)
