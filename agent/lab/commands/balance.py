"""`ggp-agent balance`: plays a game against itself, and tells its author what it is like."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING

from agent.commands.options import INTERRUPTED, OK, SHEET_HELP, add_command, count, own_rulesheets, seconds
from agent.lab.commands.options import add_cluster_option, add_log_option, executor, tell_to_go_on
from agent.search.kernel_groups import playing

if TYPE_CHECKING:
    from agent.commands.options import Commands
    from agent.lab.appraisal.report import Report


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "balance",
        run,
        "tell authors what their game is like: fair, long, drawn, decided when?",
        "Plays matches of the agent against itself from varied openings, and prints figures in the field's terms, each "
        "with its 95 % interval, definition and source: advantage, balance, drawishness, completion, duration, "
        "decisiveness, drama, lead changes, branching factor, forced moves, coverage of the board. And problems of the "
        "rules: no end, no moves, no way to win, rules that never fired, moves that were never legal. Ctrl-C and "
        "SIGTERM end it with what it has (status 130); with a log the same command goes on.",
        epilog=own_rulesheets(),
        sheets="sheet",
    )
    parser.add_argument("sheet", metavar="FILE", help=SHEET_HELP)
    parser.add_argument("--matches", type=count, default=20, metavar="N", help="matches (default: %(default)s)")
    parser.add_argument(
        "--seconds",
        type=seconds,
        default=0.1,
        metavar="S",
        help="time for each role to think about each position (default: %(default)s)",
    )
    parser.add_argument(
        "--levels",
        action="store_true",
        help="one role is played at the level `strong`, each in turn, the others at `easy`, whatever --seconds: does "
        "skill decide?",
    )
    parser.add_argument(
        "--cores", type=count, metavar="N", help="matches at once, each on a core of its own (default: all cores)"
    )
    add_cluster_option(parser, "play")
    add_log_option(parser)
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of openings and of nature (default: %(default)s)"
    )
    parser.add_argument(
        "--json-lines",
        action="store_true",
        help="print the report so far as JSON instead, a line at the beginning, after each match and at the end",
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Plays the matches, and prints the report."""
    from agent.kernels.progress import prepare
    from agent.lab.appraisal.playing import AppraisalSettings
    from agent.lab.appraisal.report import describe, show
    from agent.lab.appraisal.series import appraise
    from agent.lab.progress import Progress, shown_progress
    from agent.sheet import load

    sheet = load(options.sheet)
    prepare(playing()).close()

    def told(report: Report, shown: Progress) -> None:
        if options.json_lines:
            print(json.dumps(report.as_json()), flush=True)
        elif report.seconds == 0:
            shown.begins("matches", report.planned, len(report.matches))
        elif report.matches:
            shown.reaches(len(report.matches), describe(report))

    cores = min(options.matches, len(os.sched_getaffinity(0)))
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with executor(options, options.cores, cores) as workers, shown_progress() as shown:
            report, interrupted = appraise(
                sheet,
                AppraisalSettings(options.seconds, options.seed, options.levels),
                options.matches,
                workers,
                partial(told, shown=shown),
                lambda line: print(line, file=sys.stderr, flush=True),
                options.log,
            )
    finally:
        signal.signal(signal.SIGTERM, before)
    if interrupted:
        tell_to_go_on(options.log)
    if options.json_lines:
        print(json.dumps(report.as_json()), flush=True)
    else:
        print()
        show(report)
    return INTERRUPTED if interrupted else OK, report.whole()
