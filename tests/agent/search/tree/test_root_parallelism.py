"""Statistics from trees of helpers in the decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from agent.search.engine import UNLIMITED, Opinion
from agent.search.team import Setting
from agent.search.tree.assistant import TreeSetting
from agent.search.tree.engine import TreeSearch
from agent.search.tree.root_parallelism import Judgement, RootReport, merged, report_of
from agent.search.tree.root_policy import choose, read_root
from tests.agent.search.stopping import StopWhen
from tests.agent.search.teams import AssistedTeam, CannedTeam
from tests.agent.search.thinking import tree_search
from tests.agent.search.tree.test_root_policy import root
from tests.circuits import Compile


def report(visits: Sequence[int], means: Sequence[float], **options: object) -> RootReport:
    """A helper's report of the root with these statistics."""
    return report_of(root(visits, means, **options), None, False)  # type: ignore[arg-type]


def test_visits_and_goals_are_added_up() -> None:
    """The most visited move of all trees together is played, and its mean is that of all results."""
    own = root([60, 40], [0.5, 0.7])
    all_trees = merged(own, (report([10, 50], [0.1, 0.9]), report([20, 30], [0.0, 0.4])))
    assert all_trees.visits.tolist() == [90, 120]
    assert all_trees.means[1] == pytest.approx((28 + 45 + 12) / 120)
    assert choose(all_trees, None, 0.0, Random(1)).edge == 1
    assert choose(own, None, 0.0, Random(1)).edge == 0


def test_what_the_root_is_worth_is_weighted_by_results() -> None:
    """Also where the role has one legal move only, whose edge has no visits."""
    own = root([0], [0.0], value=0.5, results=100)
    helper = report([0], [0.0], value=0.8, results=200)
    both = merged(own, (helper, replace(helper, results=0.0)))
    assert both.value == pytest.approx((100 * 0.5 + 200 * 0.8) / 300)
    assert both.results == 300
    assert choose(both, None, 0.0, Random(1)).value == both.value


def test_average_strategies_are_added_up() -> None:
    """Where roles choose at once, a move's probability is that of all trees together."""
    own = root([50, 50], [0.5, 0.5], strategy=[40.0, 10.0], simultaneous=True)
    helper = report([50, 50], [0.5, 0.5], strategy=[5.0, 45.0], simultaneous=True)
    assert merged(own, (helper,)).strategy.tolist() == [45, 55]


def test_a_proof_of_any_helper_counts() -> None:
    """Of one child, and of the root."""
    own = root([90, 10], [0.5, 0.1])
    child = merged(own, (report([5, 5], [0.5, 0.1], proven_goals=[-1.0, 1.0]),))
    assert choose(child, None, 0.0, Random(1)) == (1, 1.0, False)
    whole = merged(own, (report([5, 5], [0.5, 0.1], proven_goals=[-1.0, 1.0], proven=True, value=1.0),))
    assert choose(whole, None, 0.0, Random(1)) == (1, 1.0, True)


def garbage() -> list[object]:
    """Reports that do not fit a root with the moves 10 and 11, or are implausible."""
    good = report([1000, 0], [1.0, 0.0])
    return [
        None,
        "report",
        Judgement(1, np.zeros(1, np.float32), np.zeros(1), np.zeros(1), np.ones(1, np.int64)),
        replace(good, moves=np.array([10, 12], np.int32)),
        report([1000, 0, 0], [1.0, 0.0, 0.0]),
        replace(good, totals=np.array([np.nan, 0.0])),
        replace(good, visits=np.array([-5.0, 0.0])),
        replace(good, totals=np.array([1e9, 0.0])),
        replace(good, strategy=np.zeros(3)),
        replace(good, proven_goals=np.array([7.0, -1.0])),
        replace(good, value=np.inf),
        replace(good, results=-1.0),
        replace(good, results=np.nan),
    ]


@pytest.mark.parametrize("bad", garbage())
def test_what_is_not_of_this_root_is_left_out(bad: object) -> None:
    """Late statistics of another position, and impossible ones."""
    own = root([60, 70], [0.5, 0.7])
    assert merged(own, (bad,)) is own
    assert merged(own, (bad, report([1, 1], [0.5, 0.5]))).visits.tolist() == [61, 71]


def test_helpers_may_vanish_and_return(own: Compile) -> None:
    """A decision uses the answers at hand; without any it is the own tree's."""
    machine = own("connect_four")
    team = CannedTeam()
    search = tree_search(machine, team=team, setting=TreeSetting())
    said: list[Opinion] = []
    with StopWhen(lambda: search.playouts >= 500) as stop:
        search.think(stop.flag, said.append, UNLIMITED)
    assert team.asked == [machine.initial()]
    assert team.resting
    alone = read_root(search._tree, 0, -1)
    wanted = int(alone.visits.argmin())
    visits = np.where(np.arange(len(alone.moves)) == wanted, 1e6, 1.0)
    opinions = []
    for answers in ([], [replace(report_of(alone, None, False), visits=visits, totals=visits / 2)], []):
        team.given = answers
        opinions.append(search._opinion())
    assert opinions[0].move == opinions[2].move != opinions[1].move
    assert opinions[1].move == machine.legal(machine.initial(), 0)[wanted]
    assert opinions[1].info["helpers"] == 1


def test_a_helper_that_proves_ends_the_search(own: Compile) -> None:
    """The engine itself may be far from a proof."""
    machine = own("connect_four")
    own_search = tree_search(machine, memory_bytes=1 << 20)
    known = own_search.report_root()
    assert known is not None
    goals = np.where(np.arange(len(known.moves)) == 3, 1.0, -1.0)
    team = CannedTeam([replace(known, proven_goals=goals, proven=True, value=1.0)])
    search = tree_search(machine, memory_bytes=1 << 20, team=team, setting=TreeSetting())
    said: list[Opinion] = []
    search.think(np.zeros(1, np.uint8), said.append, UNLIMITED)
    assert said[-1].final
    assert said[-1].move == machine.game.moves[0][int(known.moves[3])]


def test_an_assistant_searches_and_judges_like_the_engine(own: Compile) -> None:
    """Its visits count, and it gets the engine's parameters."""
    machine = own("connect_four")
    team = AssistedTeam(machine, 0)
    search = tree_search(machine, draws=3, team=team, setting=TreeSetting())

    def helped() -> bool:
        given = team.answers()
        if team.heard <= 3 or not given or not isinstance(given[0], RootReport) or given[0].visits.sum() <= 100:
            return False
        # The engine may be learning something new at this very moment.
        theirs, ours = team._made[1]._search._parameters, search._parameters  # type: ignore[union-attr]
        return all(
            np.array_equal(getattr(theirs, name), getattr(ours, name)) for name in ("exploration", "horizon", "draws")
        )

    with StopWhen(helped) as stop:
        search.think(stop.flag, lambda opinion: None, UNLIMITED)
    (given,) = team.answers()
    assert isinstance(given, RootReport)
    own_visits = read_root(search._tree, 0, -1).visits.sum()
    together = search._parallelism.add(read_root(search._tree, 0, -1), search.lines)
    assert together.visits.sum() == own_visits + given.visits.sum()


def test_helpers_count_where_there_is_no_choice(own: Compile) -> None:
    """While the other role chooses, the position's value comes from all trees."""
    machine = own("connect_four")
    state = machine.next(machine.initial(), [machine.legal(machine.initial(), role)[0] for role in (0, 1)])
    assert len(machine.legal(state, 0)) == 1
    team = AssistedTeam(machine, 0)
    search = TreeSearch(machine, 0, threads=1, memory_bytes=1 << 22, seed=1, team=team, setting=TreeSetting())
    search.begin(state)

    def helped() -> bool:
        return any(isinstance(answer, RootReport) and answer.results > 100 for answer in team.answers())

    said: list[Opinion] = []
    with StopWhen(helped) as stop:
        search.think(stop.flag, said.append, UNLIMITED)
    (given,) = team.answers()
    assert isinstance(given, RootReport)
    own_root = read_root(search._tree, 0, -1)
    together = search._parallelism.add(own_root, search.lines)
    assert together.results == own_root.results + given.results
    assert min(own_root.value, given.value) <= together.value <= max(own_root.value, given.value)
    assert said[-1].score.goal > 0


def test_plans_of_helpers_are_followed(machine_of: Compile) -> None:
    """A single player's best match may come from a helper, and is kept when the helper is gone."""
    lock = """
    (role r) (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3) (digit 1) (digit 2) (digit 3)
    (<= (legal r (dial ?d)) (digit ?d))
    (<= (next (step ?t)) (true (step ?s)) (succ ?s ?t))
    (<= (next wrong) (does r (dial ?d)) (distinct ?d 3))
    (<= (next wrong) (true wrong))
    (<= terminal (true (step 3)))
    (<= (goal r 100) (not (true wrong))) (<= (goal r 10) (true wrong))
    """
    machine = machine_of(lock)
    plan = tuple(machine.move_index(0, ("dial", "3")) for _ in range(3))
    team = CannedTeam()
    search = tree_search(machine, memory_bytes=1 << 20, team=team, setting=TreeSetting())
    known = search.report_root()
    assert known is not None
    team.given = [replace(known, line=(plan, 1.0))]
    assert search._opinion().move == ("dial", "3")
    team.given = []
    assert (search._opinion().move, search._opinion().score.goal) == (("dial", "3"), 100)


def test_settings_can_be_sent() -> None:
    """They cross to other machines."""
    import pickle

    setting: Setting = TreeSetting()
    assert pickle.loads(pickle.dumps(setting)) == setting
