"""From rules to fast play: GDL, circuits, native boards."""

from games.kernel_cache import use_versioned_cache

use_versioned_cache()
