"""The package's sheet of Blokbox, recognised once in a process."""

from __future__ import annotations

from functools import cache

from games.native.blokbox.binding import BlokboxBinding
from games.native.blokbox.recognise import bind
from tests.circuits import own_machine


@cache
def own_binding() -> BlokboxBinding:
    """Its binding, verified on some positions."""
    return bind(own_machine("blokbox"), positions=100)
