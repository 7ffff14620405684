"""Turns rules into something that can be played fast: GDL, circuits, native boards. Knows no clock and no network."""

from games.kernel_cache import use_versioned_cache

use_versioned_cache()
