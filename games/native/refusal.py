"""The refusal of a game by a family."""

from __future__ import annotations


class NotRecognised(Exception):
    """The game is no member of the family; the text tells a person which check failed, and on what."""
