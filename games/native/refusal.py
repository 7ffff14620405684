"""Why a game is none of a family."""

from __future__ import annotations


class NotRecognised(Exception):
    """The game is no member of the family: says for a person which check failed, and on what."""
