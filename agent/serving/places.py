"""Places for matches: who makes room where all are taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from agent.serving.match import Match


def yielding(matches: Collection[Match], peer: str, places: int) -> Match | None:
    """Returns the match that makes room for a new one of a peer where all places are taken; None if none does.

    That is the one of the most silent manager, if it has been silent for long. Else a peer with less than its share of
    the places takes one from a peer with more, but of a match which should have begun by now, and has not.
    """
    silent = [match for match in matches if match.yields]
    if silent:
        return min(silent, key=lambda match: match.heard)
    held = Counter(match.peer for match in matches)
    share = max(1, places // len(held.keys() | {peer}))
    if held[peer] >= share:
        return None
    unused = [match for match in matches if held[match.peer] > share and match.yields_to_others]
    return max(unused, key=lambda match: (held[match.peer], -match.heard), default=None)
