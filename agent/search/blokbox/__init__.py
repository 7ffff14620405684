"""Search for the Blokbox family: a tree search on random playouts, alpha-beta, and the engine that uses both."""

from agent.search.blokbox.engine import BlokboxEngine, make_engine

__all__ = ["BlokboxEngine", "make_engine"]
