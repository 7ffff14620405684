"""A training campaign: rounds of self-play, regression and measurement, each with the weights of the one before.

One folder holds everything: `round-N/shard-M.npz` and `round-N/weights.npz`. Files that exist are not made again: an
interrupted campaign goes on where it stopped. An executor's workers play shards, which depend on weights and seed
alone; the process that runs the campaign keeps the folder and learns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from agent.lab.jobs.executor import Executor, JobSession
from agent.lab.jobs.gather import gather
from agent.search.alphabeta.table import new_table
from agent.search.reversi.analysis import ReversiAnalyser
from agent.search.reversi.evaluation import BoardRules, PatternEvaluation, pattern_set
from agent.search.reversi.search import ReversiSearcher
from agent.search.reversi.selectivity import DEFAULT_COEFFICIENTS, margins
from agent.search.reversi.training.fit import Design, finished, fit
from agent.search.reversi.training.self_play import LabelledPositions, SelfPlaySettings, play_games
from agent.search.reversi.weights.shipped import (
    HEURISTIC,
    TRAINED,
    WeightSet,
    extent,
    load_weights,
    save_weights,
    weights_for,
)
from games.native.reversi.rules import ReversiVariant
from tests.instruments.training.reversi.errors import MIN_EMPTIES, fit_errors, measure
from tests.instruments.training.reversi.held_out import held_out_error
from tests.instruments.training.reversi.matches import Limited, compare

SHARD_GAMES = 500
HELD_OUT = 20
"""One of this many shards is held out of the regression, to measure its error."""
_TABLE_MEGABYTES = 16


@dataclass(frozen=True)
class ReversiCampaign:
    """Parameters of a campaign."""

    variant: str
    """Key of `shipped.TRAINED`."""
    folder: Path
    rounds: int = 1
    games: int = 30_000
    """Games of self-play per round."""
    play: SelfPlaySettings = SelfPlaySettings()  # noqa: RUF009 - immutable
    epochs: int = 15
    remembered: int = 2
    """Rounds, up to this one, whose games the regression uses."""
    match_games: int = 200
    match_depth: int = 6
    error_positions: int = 400
    """Positions to which the error model of Multi-ProbCut is fitted, by searches."""
    error_depth: int = 8
    scratch: bool = False
    """Whether the first round plays with rules of thumb rather than the shipped weights."""


@dataclass(frozen=True)
class RoundResult:
    """Measurements of a round."""

    number: int
    positions: int
    error: float
    """Root mean square error on held-out positions, in discs."""
    error_per_stage: list[float | None]
    coefficients: tuple[float, ...]
    """Error model of Multi-ProbCut."""
    score: dict[str, float]
    """Result of the new weights against the previous ones (see `Tally.as_json`)."""


def run(plan: ReversiCampaign, executor: Executor, tell: Callable[[str], None]) -> list[RoundResult]:
    """Runs all rounds that are not done yet; returns the results of all. `tell` gets lines of progress.

    Raises `LostWorkerError`, see `gather`.
    """
    return [_round(plan, executor, number, tell) for number in range(1, plan.rounds + 1)]


def _round(plan: ReversiCampaign, executor: Executor, number: int, tell: Callable[[str], None]) -> RoundResult:
    folder = plan.folder / f"round-{number}"
    report = folder / "result.json"
    if report.exists():
        return RoundResult(**json.loads(report.read_text()))
    folder.mkdir(parents=True, exist_ok=True)
    previous = _weights_before(plan, number)
    shards = [folder / f"shard-{index:04}.npz" for index in range(-(-plan.games // SHARD_GAMES))]
    missing = [shard for shard in shards if not shard.exists()]
    session = JobSession(partial(_open_session, plan.variant, plan.play, previous), kernels=("reversi",))
    jobs = [_Shard(100_000 * number + int(shard.stem.removeprefix("shard-"))) for shard in missing]
    for done, made in enumerate(gather(executor, session, jobs, tell), 1):
        _save(missing[made.number], made.result)
        tell(f"round {number}: {len(shards) - len(missing) + done} of {len(shards)} shards played [{made.place}]")

    variant = TRAINED[plan.variant]
    board = BoardRules.of(variant)
    patterns = pattern_set(*extent(variant.playable))
    learn, test = _load(plan, number)
    weights = fit(Design.of(learn, board, patterns), patterns, None, epochs=plan.epochs, seed=number)
    error, per_stage = held_out_error(Design.of(test, board, patterns), weights)
    tell(f"round {number}: held-out error {error:.2f} discs ({len(learn)} positions learnt, {len(test)} held out)")
    evaluation = finished(weights, patterns)

    searcher = _searcher(variant, WeightSet(evaluation, DEFAULT_COEFFICIENTS, ""))
    coefficients = fit_errors(measure(searcher, _some(test, board, plan.error_positions), plan.error_depth))
    now = WeightSet(evaluation, coefficients, "")
    tally = compare(
        variant, _contender(plan, variant, now), _contender(plan, variant, previous), plan.match_games, seed=number
    )
    tell(f"round {number}: {tally} against the weights before, both at depth {plan.match_depth}")
    save_weights(folder / "weights.npz", evaluation, coefficients)
    result = RoundResult(
        number,
        len(learn),
        error,
        [None if np.isnan(value) else round(float(value), 2) for value in per_stage],
        coefficients,
        tally.as_json(),
    )
    unfinished = report.with_suffix(".part")
    unfinished.write_text(json.dumps(asdict(result), indent=1) + "\n")
    unfinished.replace(report)
    return result


def _weights_before(plan: ReversiCampaign, number: int) -> WeightSet:
    """Returns the weights that a round plays with: chosen when it begins, then kept in its folder."""
    path = plan.folder / f"round-{number}" / "before.npz"
    if not path.exists():
        weights = _weights_to_begin_with(plan, number)
        unfinished = path.with_name("before.part.npz")
        save_weights(unfinished, weights.evaluation, weights.coefficients)
        unfinished.replace(path)
    return load_weights(path)


def _weights_to_begin_with(plan: ReversiCampaign, number: int) -> WeightSet:
    variant = TRAINED[plan.variant]
    if number > 1:
        return load_weights(plan.folder / f"round-{number - 1}" / "weights.npz")
    if plan.scratch:
        evaluation = PatternEvaluation.heuristic(*extent(variant.playable), variant.sign)
        return WeightSet(evaluation, DEFAULT_COEFFICIENTS, HEURISTIC)
    return weights_for(variant)


def _searcher(variant: ReversiVariant, weights: WeightSet) -> ReversiSearcher:
    board = BoardRules.of(variant)
    return ReversiSearcher(board, weights.evaluation.tables, margins(weights.coefficients), new_table(_TABLE_MEGABYTES))


def _contender(plan: ReversiCampaign, variant: ReversiVariant, weights: WeightSet) -> Limited:
    analyser = ReversiAnalyser(variant, weights.evaluation, weights.coefficients, megabytes=_TABLE_MEGABYTES)
    return Limited(analyser, depth=plan.match_depth)


@dataclass(frozen=True)
class _Shard:
    """A job: a shard to play."""

    seed: int


def _open_session(
    variant: str, play: SelfPlaySettings, weights: WeightSet
) -> Callable[[_Shard], Iterator[LabelledPositions]]:
    """In a worker: returns the function that plays shards with these weights."""

    def make(shard: _Shard) -> Iterator[LabelledPositions]:
        # A new searcher: an old transposition table would make a shard depend on the one before.
        yield play_games(TRAINED[variant], _searcher(TRAINED[variant], weights), play, SHARD_GAMES, shard.seed)

    return make


def _save(shard: Path, positions: LabelledPositions) -> None:
    unfinished = shard.with_name(f"{shard.stem}.part.npz")
    np.savez(unfinished, player=positions.player, opponent=positions.opponent, score=positions.score)
    unfinished.replace(shard)


def _load(plan: ReversiCampaign, number: int) -> tuple[LabelledPositions, LabelledPositions]:
    """Returns the newest rounds' positions to learn from, and the newest round's held-out ones."""
    learn: list[LabelledPositions] = []
    test: list[LabelledPositions] = []
    for earlier in range(max(1, number - plan.remembered + 1), number + 1):
        for index, shard in enumerate(sorted((plan.folder / f"round-{earlier}").glob("shard-????.npz"))):
            with np.load(shard) as data:
                part = LabelledPositions(data["player"], data["opponent"], data["score"])
            (test if earlier == number and index % HELD_OUT == 0 else learn).append(part)
    return LabelledPositions.join(learn or test), LabelledPositions.join(test)


def _some(positions: LabelledPositions, board: BoardRules, count: int) -> LabelledPositions:
    """Returns random positions that are not solved at once."""
    order = np.random.default_rng(0).permutation(len(positions))
    taken = (positions.player | positions.opponent)[order]
    chosen = order[board.cells - np.bitwise_count(taken).astype(np.int64) >= MIN_EMPTIES][:count]
    return LabelledPositions(positions.player[chosen], positions.opponent[chosen], positions.score[chosen])
