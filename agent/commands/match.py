"""`ggp-agent match`: manages one match."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent.commands.options import (
    DIFFERENT,
    INTERRUPTED,
    OK,
    SHEET_HELP,
    add_command,
    add_manager_options,
    add_memory_options,
    add_watch_option,
    own_rulesheets,
    players,
    seconds,
    usable_memory,
    write_json,
)

if TYPE_CHECKING:
    from agent.commands.options import Commands


TRY_NEXT = """
try next:
  {command} match connect_four --players agent,random    another game (`{command} match --help` lists them)
  {command} match FILE.kif --players agent,random        a rulesheet of your own
  {command} serve                                        play for a game manager: it connects to port 9147"""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "match",
        run,
        "run a match between players over HTTP",
        "Acts as the game manager of one match: sends the rules, keeps the clocks, checks every move, shows the match "
        "as it goes. Errors of players are recorded and do not end the match.",
        epilog=own_rulesheets(),
    )
    parser.add_argument("game", metavar="GAME", help=SHEET_HELP)
    parser.add_argument(
        "--players",
        type=players,
        required=True,
        metavar="A,B[,C..]",
        help="one player per role, in the order of the roles: an address such as http://localhost:9147, or one of "
        "`agent` (a new process of this agent; at a level: `agent:easy`, `agent:normal`, `agent:strong`), `random`, "
        "`legal` (always the first legal move), `human` (you: on the page with --watch, else in the terminal). "
        "A role named `random` is played by the referee and takes no player",
    )
    add_manager_options(parser, "the players")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of scrambling and random moves (default: 0)"
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="file for the match record (JSON)")
    add_watch_option(parser, "show the match on a page, where people play")
    parser.add_argument(
        "--human-clock", type=seconds, metavar="S", help="seconds for each move of a person (default: no limit)"
    )
    add_memory_options(parser)


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Plays the match to its end."""
    from agent.refereeing.hosting import host_match

    record = host_match(
        options.game,
        options.players,
        start_clock=options.start_clock,
        play_clock=options.play_clock,
        scramble=options.scramble,
        seed=options.seed,
        memory=usable_memory(options.memory) if "agent" in options.players else None,
        watch=options.watch,
        human_clock=options.human_clock,
    )
    result = record.as_json()
    if options.record is not None:
        write_json(options.record, result)
    if record.outcome == "finished" and "agent" in options.players:
        print(TRY_NEXT.format(command=_command()))
    elif record.outcome == "resigned":
        print(f"resigned after {record.plies} steps: the players were told ABORT")
    elif record.outcome == "aborted":
        print(f"interrupted after {record.plies} steps: the players were told ABORT")
    return {"finished": OK, "resigned": OK, "stalled": DIFFERENT, "aborted": INTERRUPTED}[result["outcome"]], result


def _command() -> str:
    """Returns the command as the user typed it."""
    typed = sys.argv[0]
    return typed if Path(typed).name == "ggp-agent" else "ggp-agent"
