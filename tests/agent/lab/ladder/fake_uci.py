"""An engine that speaks UCI and plays `RACE`, the first legal move; its options make it play other games, say something
else than a move, or end. It has quirks of engines in use: other encodings, other line ends, a NUL after the move."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[4])]

from tests.agent.lab.ladder.games import RACE  # noqa: E402
from tests.matches import interpreter_of  # noqa: E402

options = {"Misere": "false", "Without": "", "Ends": "0", "Says": ""}
machine = interpreter_of(RACE)


def spelled(move: tuple[str, ...]) -> str:
    """The name of a move."""
    return f"{' abc'[int(move[1])]}{move[2]}{' abc'[int(move[3])]}{move[4]}"


line: list[str] = []
for text in sys.stdin:
    words = text.split()
    state, mover, legal = machine.initial(), 0, dict[str, object]()
    for number, made in enumerate([*line, None]):
        mover = number % 2
        legal = {}
        if not machine.terminal(state):
            legal = {spelled(move): move for move in machine.legal(state, mover)}
        if made is not None:
            joint_move = [legal[made], "noop"]
            state = machine.next(state, joint_move[::-1] if mover else joint_move)
    legal.pop(options["Without"], None)
    if words == ["uci"]:
        print(*(f"option name {name} type string default {value}" for name, value in options.items()), sep="\n")
        sys.stdout.flush()
        sys.stdout.buffer.write(b"id author Jos\xe9\r\n uciok\r\n")
        sys.stdout.buffer.flush()
    elif words == ["isready"]:
        print("readyok", flush=True)
    elif words[0] == "setoption":
        options[words[2]] = words[4]
    elif words[0] == "position":
        line = words[3:]
        if len(line) == int(options["Ends"]) > 0:
            sys.exit()
    elif words[0] == "go" and options["Says"]:
        print(options["Says"].replace("_", " "), flush=True)
    elif words[:2] == ["go", "perft"]:
        print(*(f"{move}: 1" for move in legal), f"\nNodes searched: {len(legal)}", sep="\n", flush=True)
    elif "searchmoves" in words:
        joint_move = [legal[words[-1]], "noop"]
        won = machine.goal(machine.next(state, joint_move[::-1] if mover else joint_move), mover) == 100
        print(f"info depth 1 score mate {1 if won == (options['Misere'] == 'false') else -1}")
        print(f"bestmove {words[-1]}", flush=True)
    elif words[0] == "go":
        print(f"info nodes {words[2]} pv {next(iter(legal))}\nbestmove {next(iter(legal))}\0", flush=True)
