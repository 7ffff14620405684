"""Compiler options of kernels that take many arrays at once.

A game's circuit or a search tree is one NamedTuple of twenty or thirty arrays. Numba counts references to each array
at every call and assignment, which costs compile time and speed (see docs/experiments.md). A kernel without reference
counts must not allocate an array, nor assign one array to a part of another (that may raise an exception, which is
allocated). So its callers pass in work memory, and it copies element by element.

LLVM optimises a kernel, and generates its machine code, once more in every kernel that includes it. So keep call chains
short. Inline a kernel with one caller by Numba (`inline="always"`: it is typed and optimised once, as part of its
caller); leave one with several callers a call. Every array costs some twenty lines of LLVM IR per call, and splitting
large tuples that live across loops is slow: take values out of a tuple before the first branch. A literal argument
compiles the kernel anew for that literal; a NumPy integer does not.
"""

from __future__ import annotations

from typing import Any

KERNEL: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False, "no_cfunc_wrapper": True}
"""Options of `numba.njit` for kernels without reference counts. `_nrt` is undocumented; without it, all works, slower.
No C entry point is compiled: nothing needs one."""

STEP: dict[str, Any] = {**KERNEL, "forceinline": True}
"""`KERNEL` for a step of another kernel, with one or two callers: LLVM inlines it."""

INNER: dict[str, Any] = {**KERNEL, "forceinline": False, "no_cpython_wrapper": True}
"""`KERNEL` for a kernel that only kernels call: it gets no Python wrapper. LLVM inlines it where worthwhile, even in
a `STEP`, whose `forceinline` it would otherwise inherit."""

ALLOCATING: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": True}
"""Options of an allocating kernel called by one without reference counts: a kernel inherits the options it does not
set from the caller that has it compiled."""
