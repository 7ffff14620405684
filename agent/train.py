"""The commands around the native engines: `perft`, `agree`, `strength`, `solve`, `train`."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from agent.errors import InputError

AddCommand = Callable[..., argparse.ArgumentParser]
"""Adds a command: (its name, what runs it, its summary, its description) -> its parser."""


def add_commands(add: AddCommand) -> None:
    """Add this module's commands to the command line."""
    perft = add(
        "perft",
        _perft,
        "count the positions of native Reversi",
        "Counts the sequences of exactly DEPTH plies from the first position of a Reversi board, the last ply in bulk. "
        "A pass is a ply.",
    )
    perft.add_argument("depth", type=int, metavar="DEPTH")
    perft.add_argument("--columns", type=int, default=8, metavar="N", help="4 to 8 (default: %(default)s)")
    perft.add_argument("--rows", type=int, default=8, metavar="N", help="4 to 8 (default: %(default)s)")
    perft.add_argument(
        "--exact-plies",
        action="store_true",
        help="do not count games that end before DEPTH plies (default: each is one leaf)",
    )

    agree = add(
        "agree",
        _agree,
        "compare native rules with a rulesheet's circuit",
        "Recognises a rulesheet of a native family and compares legal moves, successors, ends and goals of the "
        "native rules with those of the compiled rulesheet on whole random matches. Exit status 1 if any differs.",
    )
    agree.add_argument("file", metavar="FILE", help="a rulesheet file, or the name of an own rulesheet")
    agree.add_argument("--positions", type=int, default=1_000_000, metavar="N", help="(default: %(default)s)")

    strength = add(
        "strength",
        _strength,
        "let two engines play each other",
        "Plays games between two engines at equal time without pondering, from random openings, each in both seats. "
        "Prints the first one's score with its 95 % interval, also by who had the first move after the opening, and "
        "when results were proven. Engines: native, general, playouts (general, but always playing out), "
        "montecarlo, and plain (Reversi at 6 plies without patterns). Needs jobs x cores cores that do nothing else.",
    )
    strength.add_argument("file", metavar="FILE", help="a rulesheet file, or the name of an own rulesheet")
    strength.add_argument("first", metavar="ENGINE")
    strength.add_argument("second", metavar="ENGINE")
    strength.add_argument("--games", type=int, default=100, metavar="N", help="(default: %(default)s)")
    strength.add_argument("--seconds", type=float, default=0.2, metavar="S", help="per move (default: %(default)s)")
    strength.add_argument(
        "--opening",
        type=int,
        default=8,
        metavar="N",
        help="plies at random; fewer where few decide a match, as in Blokbox: 2 (default: %(default)s, for Reversi)",
    )
    strength.add_argument(
        "--balanced",
        action="store_true",
        help="only openings that the first engine values at 40 to 60 after a quarter of a second",
    )
    strength.add_argument("--cores", type=int, default=1, metavar="N", help="for each engine (default: %(default)s)")
    strength.add_argument("--jobs", type=int, default=1, metavar="N", help="games at once (default: %(default)s)")
    strength.add_argument("--seed", type=int, default=0, metavar="N", help="of the openings (default: %(default)s)")
    strength.add_argument(
        "--log", type=Path, metavar="FILE", help="add each game to this file (JSON lines), and do not play those in it"
    )

    solve = add(
        "solve",
        _solve,
        "solve Reversi endings",
        "Solves the positions of an .obf file (board of 64 characters X, O, -, the side to move, then moves with their "
        "scores) on one core, by the standard rules. Exit status 1 if a score is not the best that the file gives.",
    )
    solve.add_argument("file", type=Path, metavar="FILE")
    solve.add_argument("--count", type=int, metavar="N", help="only the first N positions (default: all)")
    solve.add_argument("--megabytes", type=int, default=256, metavar="N", help="of the table (default: %(default)s)")

    train = add(
        "train",
        _train,
        "train the evaluation of a native game",
        "Rounds of self-play and regression. Each reports its score against the weights before and its error on "
        "held-out positions. The folder keeps everything: run again to go on after an interruption or to add "
        "rounds.",
    )
    train.add_argument("family", choices=("reversi", "blokbox"), metavar="FAMILY", help="reversi or blokbox")
    train.add_argument(
        "variant",
        metavar="VARIANT",
        help="of Reversi: standard, blocked or suicide; of Blokbox: a rulesheet file or the name of an own rulesheet",
    )
    train.add_argument("folder", type=Path, metavar="DIR", help="where games and weights are kept")
    train.add_argument("--rounds", type=int, default=3, metavar="N", help="(default: %(default)s)")
    train.add_argument("--games", type=int, default=30_000, metavar="N", help="per round (default: %(default)s)")
    train.add_argument("--depth", type=int, default=4, metavar="N", help="of Reversi self-play (default: %(default)s)")
    train.add_argument(
        "--visits", type=int, default=2000, metavar="N", help="per move of Blokbox self-play (default: %(default)s)"
    )
    train.add_argument(
        "--solve", type=int, default=14, metavar="N", help="exact play from N empty cells (default: %(default)s)"
    )
    train.add_argument("--match-games", type=int, default=200, metavar="N", help="per round (default: %(default)s)")
    train.add_argument("--cores", type=int, default=os.cpu_count() or 1, metavar="N", help="(default: all)")
    train.add_argument("--scratch", action="store_true", help="begin with rules of thumb, not the shipped weights")
    train.add_argument("--install", action="store_true", help="ship the last round's weights with the package")
    train.add_argument(
        "--install-general",
        action="store_true",
        help="of Blokbox: ship the last round's weights for variants that have no network",
    )


def _perft(options: argparse.Namespace) -> tuple[int, object]:
    from games.native.reversi.perft import perft
    from games.native.reversi.rules import central_start, rectangle

    columns, rows, depth = options.columns, options.rows, options.depth
    if not (4 <= columns <= 8 and 4 <= rows <= 8 and 0 <= depth <= 20):
        raise InputError("boards have 4 to 8 columns and rows, depths go up to 20")
    variant = central_start(columns, rows, rectangle(columns, rows))
    perft(variant, 3)  # compiles
    begin = time.perf_counter()
    leaves = perft(variant, depth, count_finished=not options.exact_plies)
    seconds = time.perf_counter() - begin
    print(f"perft {depth}: {leaves} leaves in {seconds:.3f} s, {leaves / seconds / 1e6:.1f} M leaves/s")
    return 0, {"depth": depth, "leaves": leaves, "seconds": seconds}


def _agree(options: argparse.Namespace) -> tuple[int, object]:
    from agent.sheets import load
    from games.gdl.compile import compile_rules
    from games.native.blokbox import recognise as blokbox
    from games.native.blokbox.verify import count_agreeing as count_blokbox
    from games.native.reversi import recognise as reversi
    from games.native.reversi.verify import count_agreeing as count_reversi

    machine = compile_rules(load(options.file).checked)
    begin = time.perf_counter()
    if (board := reversi.recognise(machine)) is not None:
        seconds = time.perf_counter() - begin
        print(f"recognised in {seconds:.2f} s: {board.variant}")
        begin = time.perf_counter()
        agreeing = count_reversi(machine, board, options.positions, seed=1000)
    elif (binding := blokbox.recognise(machine)) is not None:
        seconds = time.perf_counter() - begin
        print(f"recognised in {seconds:.2f} s: {binding.variant}")
        begin = time.perf_counter()
        agreeing = count_blokbox(machine, binding, options.positions, seed=1000)
    else:
        raise InputError(f"{options.file}: not a game of a native family")
    print(f"{agreeing} positions agree ({time.perf_counter() - begin:.1f} s)")
    return int(agreeing < options.positions), {"positions": agreeing, "recognised_in": seconds}


def _strength(options: argparse.Namespace) -> tuple[int, object]:
    from agent.series import run_series
    from agent.strength import ENGINES, Series

    names = (options.first, options.second)
    for name in names:
        if name not in ENGINES:
            raise InputError(f"{name}: no engine; there are {', '.join(ENGINES)}")
    if min(options.games, options.jobs, options.cores) < 1 or options.opening < 0 or not options.seconds > 0:
        raise InputError("games, jobs, cores and seconds are positive, and openings not negative")
    series = Series(
        options.file, names, options.seconds, options.opening, options.cores, options.seed, options.balanced
    )

    def tell(line: str) -> None:
        print(line, flush=True)

    summary = run_series(series, games=options.games, jobs=options.jobs, log=options.log, tell=tell)
    for line in summary.lines():
        print(line)
    return 0, summary.as_json()


def _solve(options: argparse.Namespace) -> tuple[int, object]:
    from agent.search.reversi.problems import read_problems, solve

    try:
        problems = read_problems(options.file.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        raise InputError(f"{options.file}: {error}") from None
    results = []
    for number, problem in enumerate(problems[: options.count], 1):
        solved = solve(problem, megabytes=options.megabytes)
        right = problem.best is None or solved.score == problem.best
        print(
            f"{number}: {problem.empties} empty, score {solved.score:+}{'' if right else ' (WRONG)'}, "
            f"{solved.nodes} nodes in {solved.seconds:.2f} s, {solved.nodes / solved.seconds / 1e6:.1f} M nodes/s",
            flush=True,
        )
        results.append({**asdict(solved), "right": right})
    return int(not all(result["right"] for result in results)), results


def _train(options: argparse.Namespace) -> tuple[int, object]:
    return _train_blokbox(options) if options.family == "blokbox" else _train_reversi(options)


def _train_blokbox(options: argparse.Namespace) -> tuple[int, object]:
    from agent.search.blokbox import nets, tuning
    from agent.search.blokbox.campaign import Plan, network_path, run, weights_path
    from agent.sheets import load
    from games.gdl.compile import compile_rules
    from games.native.blokbox.recognise import recognise

    binding = recognise(compile_rules(load(options.variant).checked))
    if binding is None:
        raise InputError(f"{options.variant}: not a game of the Blokbox family")
    plan = Plan(
        binding.variant,
        options.folder,
        rounds=options.rounds,
        games=options.games,
        visits=options.visits,
        match_games=options.match_games,
        scratch=options.scratch,
        cores=options.cores,
    )
    results = run(plan, lambda line: print(line, flush=True))
    if options.install:
        shipped = nets.SHIPPED / f"{Path(options.variant).stem}{nets.SUFFIX}"
        shipped.write_bytes(network_path(options.folder, options.rounds).read_bytes())
    if options.install_general:
        tuning.SHIPPED.write_bytes(weights_path(options.folder, options.rounds).read_bytes())
    return 0, [asdict(result) for result in results]


def _train_reversi(options: argparse.Namespace) -> tuple[int, object]:
    from agent.search.reversi.training.campaign import Plan, run
    from agent.search.reversi.training.selfplay import Play
    from agent.search.reversi.weights import FOLDER, TRAINED

    if options.variant not in TRAINED:
        raise InputError(f"{options.variant}: no variant; there are {', '.join(TRAINED)}")
    plan = Plan(
        options.variant,
        options.folder,
        rounds=options.rounds,
        games=options.games,
        play=Play(depth=options.depth, solve=options.solve),
        cores=options.cores,
        match_games=options.match_games,
        scratch=options.scratch,
    )
    results = run(plan, lambda line: print(line, flush=True))
    if options.install:
        newest = options.folder / f"round-{options.rounds}" / "weights.npz"
        (FOLDER / f"{options.variant}.npz").write_bytes(newest.read_bytes())
    return 0, [asdict(result) for result in results]
