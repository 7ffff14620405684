"""Bits and vectors for Numba kernels; all LLVM IR of the project.

`words` (single words, bit matrices), `board8x8` and `board16x16` (sets of cells), `vectors` (gates, sums of rows),
`rows` (lanes as vectors), `short_rows` (sixteen integers), `arrays` (workspaces), `choice` (random choices in all
lanes), `locks` and `clock`, `prefetch`, `addresses` (memory that others own), `splitmix` (random numbers). `llvm` holds
the building blocks of the intrinsics, `compiling` the compiler options of kernels, `inner` the decorators of kernels
that only kernels call. The tests hold a plain Python twin of every intrinsic.
"""
