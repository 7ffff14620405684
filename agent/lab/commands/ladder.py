"""`ggp-agent lab ladder`: measures the agent against a specialist of a game."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain
from typing import TYPE_CHECKING

from agent.commands.options import OK, SHEET_HELP, add_command, count
from agent.errors import InputError
from agent.lab.commands.options import add_series_options, shown_series
from agent.search.kernel_groups import playing

if TYPE_CHECKING:
    from agent.commands.options import Commands
    from agent.lab.tournament.yardstick import GameRating

START_CLOCK, PLAY_CLOCK = 20, 1
"""Clocks of a player over HTTP, in seconds."""
DOUBLINGS = 2
"""Doublings from a rung to the next."""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "ladder",
        run,
        "measure this agent against a specialist of a game",
        "Plays matches against an engine of others that searches 4 times as many nodes from rung to rung. Each pair of "
        "matches, with the roles exchanged, has a balanced opening of its own, and meets the rung above the last one "
        "while the agent wins, and below while it loses. Prints the nodes a move at which it would score half of the "
        "points, with the 95 % interval. Before the first match both have to agree on the rules in random matches. "
        "With a log it can be interrupted and started again, and `ggp-agent replay` shows its matches. See "
        "docs/rating.md.",
        sheets="game",
    )
    parser.add_argument("game", metavar="GAME", help=SHEET_HELP)
    parser.add_argument(
        "--engine",
        required=True,
        metavar="COMMAND",
        help="a command that speaks UCI, a Python file with a function `make`, or the name of an engine in another "
        "package",
    )
    parser.add_argument(
        "--option",
        type=_option,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the engine, such as UCI_Variant=breakthrough; in this order",
    )
    parser.add_argument(
        "--unit", choices=("nodes", "ms"), default="nodes", help="what a rung limits a move by (default: %(default)s)"
    )
    parser.add_argument("--lowest", type=count, default=25, metavar="N", help="the lowest rung (default: %(default)s)")
    parser.add_argument(
        "--first", type=count, default=1600, metavar="N", help="the rung of the first pair (default: %(default)s)"
    )
    parser.add_argument(
        "--highest", type=count, default=1638400, metavar="N", help="the highest rung (default: %(default)s)"
    )
    parser.add_argument(
        "--share",
        action="store_true",
        help="instead: meet the engine at its best, and count the moves of the agent that keep the game's value where "
        "something can be lost; for engines that know the value of each move",
    )
    parser.add_argument(
        "--player",
        default="general@1+20",
        metavar="PLAYER",
        help="the agent, or another player as `tournament` names them (default: %(default)s)",
    )
    parser.add_argument(
        "--matches", type=count, default=24, metavar="N", help="matches, at most (default: %(default)s)"
    )
    add_series_options(parser, count, 4)
    parser.add_argument("--cores", type=count, default=1, metavar="N", help="cores of the match (default: %(default)s)")


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Plays the matches, and prints the rung. Raises `CommandError`."""
    from agent.kernels.progress import prepare
    from agent.lab.ladder.kept import kept_values
    from agent.lab.ladder.named import make_outside
    from agent.lab.ladder.outside import OutsideEngine, blaming
    from agent.lab.ladder.rules import check_rules
    from agent.lab.ladder.seat import OutsidePlayer
    from agent.lab.tournament.contenders import Contender, parse_contender
    from agent.lab.tournament.engine_player import engine_names
    from agent.lab.tournament.results import Settings
    from agent.lab.tournament.series import check_balanced
    from agent.lab.tournament.yardstick import NARROW, Ladder, rate
    from agent.sheet import load

    player = parse_contender(options.player, engine_names())
    sheet = load(options.game)
    settings = Settings(options.seed, options.opening, START_CLOCK, PLAY_CLOCK, "none", options.cores, balanced=True)
    rungs = [options.lowest]
    while rungs[-1] << DOUBLINGS <= options.highest:
        rungs.append(rungs[-1] << DOUBLINGS)
    if options.first not in rungs:
        raise InputError(f"{options.first} is no rung; there are {', '.join(map(str, rungs))}")
    check_balanced(settings, [sheet])
    prepare(playing()).close()
    machine = sheet.machine()
    with _on_cores(options.cores), closing(make_outside(options.engine, dict(options.option))) as engine:
        if options.share and type(engine).values is OutsideEngine.values:
            raise InputError(f"{engine.name} does not know the value of moves; leave --share out")
        engine.unit = options.unit
        with blaming(engine.name):
            check_rules(engine, machine)
        print(f"{engine.name} plays {sheet.name} by the same rules", flush=True)
        limits = {engine.name: None} if options.share else {f"{engine.name}.{rung}": rung for rung in rungs}
        spec = " ".join([options.engine, *(f"{name}={value}" for name, value in options.option)])
        ladder = Ladder(
            [
                Contender(label, spec if rung is None else f"{spec} {rung} {options.unit}", "outside")
                for label, rung in limits.items()
            ],
            options.lowest,
            DOUBLINGS,
            options.unit,
            0 if options.share else rungs.index(options.first),
            lambda contender, *seat: OutsidePlayer(engine, limits[contender.label], *seat),
        )
        with shown_series(options.log) as watcher:
            (rating,) = rate(
                player,
                [sheet],
                settings,
                matches=options.matches,
                ladder=ladder,
                narrow=0 if options.share else NARROW,
                log=options.log,
                watcher=watcher,
            )
        with blaming(engine.name):
            kept = [kept_values(engine, machine, result, player.label) for result in rating.results if options.share]
    data = {"player": player.spec, "engine": spec, **settings.as_json(), "game": sheet.name}
    return OK, data | (_show_share(rating, kept) if options.share else _show_rung(rating)) | _show_turns(rating)


def _show_share(rating: GameRating, kept: list[list[bool]]) -> dict[str, object]:
    """Prints points and kept moves, by match, and returns them as data."""
    from agent.lab.tally import Tally

    played, moves = Tally(), Tally()
    for _, share in rating.scores:
        played = played.plus(round(2 * share) - 1)
    for one in chain.from_iterable(kept):
        moves = moves.plus(1 if one else -1)
    print(f"points: {played}" if played.games else "no match was finished")
    if moves.games:
        low, high = moves.interval()
        print(
            f"{moves.wins} of {moves.games} moves with something to lose kept the value: {100 * moves.share:.1f} % "
            f"(95 % interval {100 * low:.1f}..{100 * high:.1f}, if moves are independent)"
        )
    return {"matches": played.as_json(), "kept": moves.as_json(), "kept_by_match": kept}


def _show_rung(rating: GameRating) -> dict[str, object]:
    """Prints the results at each rung, and the one of half of the points; returns them as data."""
    from agent.lab.tables import print_table

    ladder, found = rating.ladder, rating.estimate
    print_table(
        [f">{ladder.unit} a move", "+ = -", ">points", ">95 %"],
        [
            [
                str(rung),
                f"+{tally.wins} ={tally.draws} -{tally.losses}",
                f"{100 * tally.share:.0f} %",
                "..".join(f"{100 * end:.0f}" for end in tally.interval()),
            ]
            for rung, tally in rating.by_rung.items()
        ],
    )
    ends = [found.strength, found.low, found.high]
    texts, (middle, low, high) = list(map(ladder.text, ends)), [round(end / ladder.doublings, 2) for end in ends]
    print(
        f"half of the points at {texts[0]} {ladder.unit} a move (95 %: {texts[1]}..{texts[2]}), "
        f"{middle} rungs of {1 << ladder.doublings} above {ladder.lowest} ({low}..{high})"
    )
    return {**rating.as_json(), "rung": middle, "rung_low": low, "rung_high": high}


def _show_turns(rating: GameRating) -> dict[str, object]:
    """Prints whether the player had its time; returns its turns and errors as data."""
    from agent.lab.tournament.turns import TurnStatistics
    from agent.lab.tournament.yardstick import errors_of

    turns = TurnStatistics()
    for result in rating.results:
        if (one := result.turns[result.seats.index(rating.player)]) is not None:
            turns.add(one, result.plies)
    if turns.plies:
        print(f"{rating.player}: longest turn {turns.slowest:.2f} s, {100 * turns.busy:.0f} % of its cores' time used")
    if errors := sum(len(errors_of(result, rating.player)) for result in rating.results):
        print(f"errors of {rating.player}: {errors} (the log has them)")
    return {"turns": turns.as_json()}


@contextmanager
def _on_cores(cores: int) -> Iterator[None]:
    """Within, this process and its children have cores of their own: an engine searches on as many as it sees."""
    from agent.lab.jobs.cores import claim_or_share_cores

    before = os.sched_getaffinity(0)
    if cores > len(before):
        raise InputError(f"{cores} cores are wanted, and there are {len(before)}")
    with closing(claim_or_share_cores(cores)) as claim:
        os.sched_setaffinity(0, claim.cores)
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)


def _option(text: str) -> tuple[str, str]:
    name, given, value = text.partition("=")
    if not given or not name:
        raise argparse.ArgumentTypeError("NAME=VALUE")
    return name, value
