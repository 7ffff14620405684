"""Word-level bit operations for kernels: every one that is LLVM intrinsics stands here."""
