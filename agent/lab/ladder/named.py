"""The engine that a user names."""

from __future__ import annotations

import importlib.util
import shlex
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import TypeAlias

from agent.errors import InputError
from agent.lab.ladder.outside import OutsideEngine, blaming
from agent.lab.ladder.uci import UciEngine

MakeOutside: TypeAlias = Callable[[dict[str, str]], OutsideEngine]
"""Makes an engine with the options of the command line."""

ENTRY_POINTS = "ggp_agent.outside"
"""Entry points of engines from other packages: the name on the command line, and a `MakeOutside`."""


def make_outside(text: str, options: dict[str, str]) -> OutsideEngine:
    """Returns the engine of that name, of a Python file with a function `make`, or of a command that speaks UCI.

    Raises `CommandError`.
    """
    with blaming(text):
        for point in entry_points(group=ENTRY_POINTS, name=text):
            make: MakeOutside = point.load()
            return make(options)
        words = shlex.split(text)
        is_file = Path(text).is_file()
        if not text.endswith(".py") or (len(words) > 1 and not is_file):
            return UciEngine(words, options)
        if not is_file:
            raise InputError(f"{text}: No such file")
        spec = importlib.util.spec_from_file_location("outside_engine", Path(text))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if not hasattr(module, "make"):
            raise InputError(f"{text}: has no function make(options)")
        make = module.make
        return make(options)
