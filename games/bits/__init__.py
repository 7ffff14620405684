"""Bits and vectors for Numba kernels; all LLVM IR of the project stands here. Imports nothing of the project.

`words` (single words, bit matrices), `board8x8` and `board16x16` (sets of cells), `vectors` (gates, sums of rows),
`locks` (threads), `addresses` (memory that others own), `splitmix` (random numbers); `llvm` holds what their
intrinsics are put together from, `compiling` the options of kernels that take many arrays, `inner` the decorators of
those that only kernels call. Every intrinsic has a twin in plain Python in the tests. May be imported by whoever writes
kernels.
"""
