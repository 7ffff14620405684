"""Decides: matches, clocks, worker processes, journal, search engines, referee and command line."""
