"""How kernels are compiled that take many arrays at once.

A game's whole circuit, or a whole search tree, is one NamedTuple of twenty or thirty arrays. Numba counts references
to each of them at every call and assignment, which costs compile time and speed: without counting, the general tree
search made 1.7 times the playouts per second (geometric mean of eight games), and Reversi's alpha-beta, whose steps
were kernels of their own, searched three times the nodes. A kernel without reference counts must not allocate an array,
nor assign one array to a part of another (that may raise an exception, which is allocated): its work memory is handed
to it, and it copies element by element.

What compiling costs: LLVM optimises a kernel, and makes machine code of it, once more for each kernel on the way down
to it, as each takes in all it calls. So keep the chain of calls short: what is called from one place is best inlined
by Numba (`inline="always"`: then it is typed and optimised once, as a part of its caller), what is called from several
stays a call. Every array costs some twenty lines of LLVM IR at every call, and splitting up large tuples that live
across loops is slow: take out of a tuple what is needed before the first branch. A literal argument has a kernel
compiled anew for that literal; a NumPy integer does not.
"""

from __future__ import annotations

from typing import Any

KERNEL: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False, "no_cfunc_wrapper": True}
"""Options of `numba.njit` for such a kernel. `_nrt` is not part of Numba's documented interface: without it, all this
works as well, but slower. No entry from C is compiled: nothing asks for one."""

STEP: dict[str, Any] = {**KERNEL, "forceinline": True}
"""The same for a kernel that is a step of another one, and called from one or two places: LLVM inlines it."""

INNER: dict[str, Any] = {**KERNEL, "forceinline": False, "no_cpython_wrapper": True}
"""The same for a kernel that only kernels call: nothing is compiled that takes its arguments from Python. LLVM inlines
it where it finds that worthwhile, even if its caller is itself a `STEP`, which would hand `forceinline` on."""

ALLOCATING: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": True}
"""Options of a kernel that does allocate and is called by one without reference counts: an option that a kernel is not
given is its caller's, where the caller is what has it compiled."""
