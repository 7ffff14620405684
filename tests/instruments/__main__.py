"""Developers' instruments: `python -m tests.instruments --help`, in the folder of the repository.

Speed: `kernels` (cost of compiling), `search-speed`, `perft`, `solve`. Strength: `tactics`, `variant` (matches of a
changed checkout; others are measured by `ggp-agent tournament`). Servers: `soak` (load and faults), `gaps` (missed
PLAYs). Training of the native families' weights: `train`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from agent.cli import main
from tests.instruments.commands import gaps, kernels, perft, search_speed, soak, solve, tactics, train, variant


def make_parser() -> argparse.ArgumentParser:
    """Returns the parser of all instruments."""
    parser = argparse.ArgumentParser(prog="python -m tests.instruments", description=__doc__)
    commands = parser.add_subparsers(title="instruments", metavar="INSTRUMENT", required=True)
    for instrument in (kernels, search_speed, perft, solve, tactics, variant, soak, gaps, train):
        instrument.add(commands)
    return parser


def instrument(argv: Sequence[str] | None = None) -> int:
    """Runs one instrument and returns its exit status."""
    return main(argv, make_parser())


if __name__ == "__main__":
    sys.exit(instrument())
