"""`ggp-agent rate`: measures any player against levels of this agent."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agent.commands.options import OK, SHEET_HELP, add_command, add_manager_options, count
from agent.lab.commands.options import add_series_options, shown_series
from agent.search.kernel_groups import playing

if TYPE_CHECKING:
    from agent.commands.options import Commands

SUITE = ("breakthrough", "reversi")
"""The games of the yardstick. Connect four tells less: the better side of an opening often decides."""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "rate",
        run,
        "rate a player against levels of this agent",
        "Plays matches between a player and this agent at levels that no machine changes: 1, 2, 4, .. 16384 playouts a "
        "move. Each pair of matches, with the roles exchanged and from one random opening, meets the level nearest to "
        "what the matches before it tell. Prints the level against which the player would score half of the points, "
        "for each game and over all, with 95 % intervals. With a log it can be interrupted and started again, and "
        "`ggp-agent replay` shows its matches.",
        sheets="games",
    )
    parser.add_argument(
        "player",
        metavar="URL",
        help="address of a player, such as http://localhost:9147, or a player as `tournament` "
        "names them: `random`, general@0.2",
    )
    parser.add_argument(
        "games", nargs="*", default=SUITE, metavar="GAME", help=f"{SHEET_HELP} (default: {' '.join(SUITE)})"
    )
    parser.add_argument(
        "--matches", type=count, default=24, metavar="N", help="matches of each game, at most (default: %(default)s)"
    )
    add_series_options(parser, count, 4)
    add_manager_options(parser, "the player")


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Plays the matches, and prints the levels. Raises `InputError` where the player or a game makes no sense."""
    from agent.kernels.progress import prepare
    from agent.lab.tables import print_table
    from agent.lab.tournament.contenders import parse_contender
    from agent.lab.tournament.engine_player import engine_names
    from agent.lab.tournament.results import Settings
    from agent.lab.tournament.yardstick import LEVELS as LADDER
    from agent.lab.tournament.yardstick import rate
    from agent.search.levels import LEVELS
    from agent.sheet import load

    player = parse_contender(options.player, engine_names())
    sheets = [load(game) for game in options.games]
    settings = Settings(
        seed=options.seed,
        opening_plies=options.opening,
        start_clock=options.start_clock,
        play_clock=options.play_clock,
        scramble=options.scramble,
        cores=1,
    )
    prepare(playing()).close()
    with shown_series(options.log) as watcher:
        ratings = rate(player, sheets, settings, matches=options.matches, log=options.log, watcher=watcher)
    overall = LADDER.estimate([rating.likelihood for rating in ratings])
    games = [rating.as_json() for rating in ratings]
    lines = [(rating.game, rating.estimate, len(rating.results)) for rating in ratings]
    lines.append(("all games", overall, sum(len(rating.results) for rating in ratings)))
    print_table(
        ["half of the points in", ">playouts a move", ">95 %", ">matches"],
        [
            [game, LADDER.text(found.strength), f"{LADDER.text(found.low)}..{LADDER.text(found.high)}", str(matches)]
            for game, found, matches in lines
        ],
    )
    print("levels: " + ", ".join(f"{name} {level.nodes}" for name, level in LEVELS.items()))
    if errors := sum(int(str(game["errors"])) for game in games):
        print(f"errors of the player: {errors} (the log has them)")
    return OK, {"player": player.spec, **settings.as_json(), **LADDER.as_json(overall), "games": games}
