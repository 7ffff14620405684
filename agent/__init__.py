"""Decides: matches, clocks, worker processes, journal, search engines, referee and command line."""

import games  # noqa: F401 - says where compiled kernels are kept, before any is defined
