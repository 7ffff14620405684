"""Search for the Blokbox family: a tree search, alpha-beta that proves results beside it, and their engine."""

from agent.search.blokbox.engine import BlokboxEngine, make_engine, warm_up

__all__ = ["BlokboxEngine", "make_engine", "warm_up"]
