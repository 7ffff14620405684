"""From rules to fast play: GDL, circuits, native boards."""

import os

from games.kernel_cache import use_versioned_cache

# Where one thread forks while another computes, OpenBLAS's own threads may wait for ever (OpenBLAS, issue 5520). And
# searches keep all cores busy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

use_versioned_cache()
