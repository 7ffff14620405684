"""The Reversi engine, and the tools that train and measure it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from agent.cli import main
from agent.lab.jobs.inline import InlineExecutor
from agent.lab.tally import Tally
from agent.search.alphabeta.table import new_table
from agent.search.engine import EngineMismatchError
from agent.search.registry import engines_for
from agent.search.reversi.analysis import ReversiAnalyser
from agent.search.reversi.engine import ReversiEngine, expected_goal, make_engine
from agent.search.reversi.evaluation import UNIT, BoardRules
from agent.search.reversi.search import ReversiSearcher
from agent.search.reversi.selectivity import margins
from agent.search.reversi.training.fit import Design
from agent.search.reversi.training.quick import learn_quickly
from agent.search.reversi.training.self_play import SelfPlaySettings, play_games
from agent.search.reversi.weights.shipped import weights_for
from games.gdl.running.machine import CircuitMachine
from games.native.reversi.recognise import recognise
from games.native.reversi.rules import ReversiVariant, central_start, rectangle
from tests.agent.search.thinking import opinions_of, play_match
from tests.circuits import own_machine
from tests.instruments.__main__ import instrument
from tests.instruments.training.reversi import campaign
from tests.instruments.training.reversi.campaign import ReversiCampaign, run
from tests.instruments.training.reversi.held_out import held_out_error
from tests.instruments.training.reversi.matches import Limited, compare, openings


@pytest.fixture(scope="module", params=["reversi_holes", "reversi_keep_turn"])
def machine(request: pytest.FixtureRequest) -> CircuitMachine:
    """A game of the family, with noops and without."""
    return own_machine(request.param)


binding_of = cache(recognise)


def engine_of(machine: CircuitMachine, role: int, max_depth: int) -> ReversiEngine:
    """The family's engine, which stops by itself at that depth."""
    binding = binding_of(machine)
    assert binding is not None
    return ReversiEngine(machine, role, binding, megabytes=4, max_depth=max_depth)


def test_engine_is_chosen_for_the_family() -> None:
    """The registry offers the native engine first for Reversi, and not at all for other games."""
    assert next(engines_for(own_machine("reversi"), 0)).name == "reversi"
    assert make_engine(own_machine("connect_four"), 0) is None


def test_plays_a_whole_match(machine: CircuitMachine) -> None:
    """Both roles report legal moves, and their proven goals come true; one proves its goal before the end."""
    engines = {role: engine_of(machine, role, 4) for role in (0, 1)}
    turns, end = play_match(machine, engines, lambda engine: opinions_of(engine)[-1])
    said = [(role, opinion.score) for turn in turns for role, opinion in turn.items()]
    certain = {(role, score.goal) for role, score in said if score is not None and score.proven}
    assert certain
    assert certain <= {(role, machine.goal(end, role)) for role in engines}


def test_different_view_is_an_error(machine: CircuitMachine) -> None:
    """A state that does not follow from the joint move by the native rules is refused."""
    engine = make_engine(machine, 0)
    assert engine is not None
    state = machine.initial()
    engine.begin(state)
    first, second = machine.legal(state, 0)[:2]
    waits = machine.legal(state, 1)[0]
    with pytest.raises(EngineMismatchError):
        engine.advance((first, waits), machine.next(state, (second, waits)))


def test_only_move_is_certain_at_once(machine: CircuitMachine) -> None:
    """Without a choice the first opinion is final, and the next position is searched."""
    engine = engine_of(machine, 1, 4)
    engine.begin(machine.initial())
    opinions = opinions_of(engine)
    assert opinions[0].final
    assert opinions[0].move == machine.legal(machine.initial(), 1)[0]
    assert engine._analyser.nodes > 0


def test_expected_goal_grows_with_the_score() -> None:
    """An even score gets the middle goal, certainty grows towards the end, and the goals are the rulesheet's."""
    assert expected_goal(0, 30, (0, 50, 100)) == 50
    assert 50 < expected_goal(4, 30, (0, 50, 100)) < expected_goal(4, 10, (0, 50, 100)) < 100
    assert expected_goal(-64, 0, (20, 50, 80)) == pytest.approx(20)


def test_trained_weights_beat_rules_of_thumb() -> None:
    """At equal depth the shipped evaluation mostly wins against an untrained one."""
    variant = ReversiVariant()
    weights = weights_for(variant)
    trained = ReversiAnalyser(variant, weights.evaluation, weights.coefficients, megabytes=4)
    plain = weights_for(variant, Path("nowhere"))
    untrained = ReversiAnalyser(variant, plain.evaluation, plain.coefficients, megabytes=4)
    score = compare(variant, Limited(trained, depth=3), Limited(untrained, depth=3), 20)
    assert score.games == 20
    assert score.share > 0.6


def test_quick_learning_explains_games() -> None:
    """Quickly learnt weights predict an unknown board better than rules of thumb; learning can be stopped."""
    variant = central_start(5, 6, rectangle(5, 6))
    begin = weights_for(variant)
    play = SelfPlaySettings(depth=1, solve=8)
    learnt = learn_quickly(variant, begin, np.zeros(1, np.uint8), [(play, 300)])
    assert learnt is not None
    board = BoardRules.of(variant)
    searcher = ReversiSearcher(board, learnt.evaluation.tables, margins(learnt.coefficients), new_table(1))
    positions = play_games(variant, searcher, play, 100, 77)
    errors = [
        held_out_error(
            Design.of(positions, board, weights.evaluation.patterns), weights.evaluation.weights / np.float32(UNIT)
        )[0]
        for weights in (learnt, begin)
    ]
    assert errors[0] < errors[1]
    assert learn_quickly(variant, begin, np.ones(1, np.uint8)) is None


def test_score_interval() -> None:
    """The interval of a score is Wilson's: inside 0..1 even for a clean sweep."""
    sweep = Tally(wins=100)
    assert sweep.share == 1
    assert sweep.interval()[0] == pytest.approx(0.963, abs=0.001)
    assert Tally(40, 20, 40).interval() == pytest.approx((0.404, 0.596), abs=0.001)


def test_openings_differ() -> None:
    """Openings are different positions, eight plies from the start."""
    found = list(openings(ReversiVariant(), 50, 0))
    assert len(set(found)) == 50
    assert {ReversiVariant().empty(position).bit_count() for position in found} == {52}


def test_campaign_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A campaign writes shards, weights and measurements, and does not repeat what is there."""
    monkeypatch.setattr(campaign, "SHARD_GAMES", 200)
    plan = ReversiCampaign(
        "blocked", tmp_path, games=400, play=SelfPlaySettings(depth=1, solve=8), epochs=2, match_games=4,
        match_depth=2, error_positions=100, error_depth=4,
    )  # fmt: skip
    lines: list[str] = []
    (first,) = run(plan, InlineExecutor(), lines.append)
    assert first.positions > 8000
    assert first.error == pytest.approx(20, abs=2)
    assert first.score["wins"] + first.score["draws"] + first.score["losses"] == 4
    assert (tmp_path / "round-1" / "weights.npz").stat().st_size < 4_000_000
    lines.clear()
    (again,) = run(plan, InlineExecutor(), lines.append)
    assert lines == []
    assert again.error == first.error


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`perft` and `conform --native` print and write their findings; unknown variants are an error."""
    result = tmp_path / "result.json"
    assert instrument(["perft", "6", "--json", str(result)]) == 0
    assert json.loads(result.read_text())["leaves"] == 8200
    assert main(["lab", "conform", "reversi", "--native", "--positions", "500"]) == 0
    assert "positions agree" in capsys.readouterr().out
    assert instrument(["train", "reversi", "nothing", str(tmp_path)]) == 2
