"""The general tree search: exact endings, puzzles, simultaneous moves, more players, chance, time and memory."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from agent.search.engine import UNLIMITED, Opinion
from agent.search.tree.compaction import keep_reachable
from agent.search.tree.engine import TreeSearch
from agent.search.tree.root_policy import read_root
from agent.search.tree.scheduler import EXPLORATION
from agent.search.tree.store import N_EDGES, N_NODES, N_PLAYOUTS, ROOT, filled, find_node
from agent.search.tree.workspace import BATCHES, PASS_TIME, PASSES
from games.gdl.running.machine import CircuitMachine
from games.machine import State, Term
from tests.agent.search.stopping import StopWhen
from tests.agent.search.thinking import play_match, tree_search
from tests.agent.search.tree.steady import steady
from tests.circuits import Compile

PENNIES = """
(role even) (role odd) (init (left 3)) (succ 0 1) (succ 1 2) (succ 2 3)
(side heads) (side tails)
(<= (legal ?r ?s) (role ?r) (side ?s))
(<= (next (won even)) (does even ?s) (does odd ?s))
(<= (next (won odd)) (does even ?s) (does odd ?t) (distinct ?s ?t))
(<= terminal (true (won ?r)))
(<= (goal ?r 100) (true (won ?r)))
(<= (goal ?r 0) (role ?r) (not (true (won ?r))))
"""
"""Matching pennies: neither side is better, and a predictable player loses."""

DILEMMA = """
(role a) (role b) (init first)
(<= (legal ?r (take ?x)) (role ?r) (amount ?x))
(amount 1) (amount 2) (amount 3)
(<= (next (took ?r ?x)) (does ?r (take ?x)))
(<= terminal (true (took ?r ?x)))
(<= (goal ?r 100) (true (took ?r 3)))
(<= (goal ?r 60) (true (took ?r 2)))
(<= (goal ?r 0) (true (took ?r 1)))
(<= (goal ?r 0) (role ?r) (true first))
"""
"""Both choose at once, and one choice is always best."""

LOTTERY = """
(role player) (role random) (init start)
(<= (legal player (buy ?x)) (true start) (ticket ?x))
(<= (legal player wait) (not (true start)))
(<= (legal random wait) (true start))
(<= (legal random (draw ?n)) (not (true start)) (number ?n))
(ticket safe) (ticket bold) (ticket mad) (number 1) (number 2) (number 3) (number 4)
(<= (next (bought ?x)) (does player (buy ?x)))
(<= (next (bought ?x)) (true (bought ?x)))
(<= (next (drawn ?n)) (does random (draw ?n)))
(<= terminal (true (drawn ?n)))
(<= (goal player 40) (true (bought safe)))
(<= (goal player 80) (true (bought bold)) (true (drawn ?n)) (distinct ?n 1))
(<= (goal player 0) (true (bought bold)) (true (drawn 1)))
(<= (goal player 100) (true (bought mad)) (true (drawn 1)))
(<= (goal player 0) (true (bought mad)) (true (drawn ?n)) (distinct ?n 1))
(<= (goal player 0) (not (true (drawn 1))) (not (true (drawn 2))) (not (true (drawn 3))) (not (true (drawn 4))))
(goal random 0)
"""
"""Expected goals 40, 60 and 25: `random` draws, it does not choose the worst (or best) for the player."""

LOCKS = """
(role solver) (init (at 0))
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6)
(key 0 c) (key 1 a) (key 2 b) (key 3 b) (key 4 d) (key 5 a)
(letter a) (letter b) (letter c) (letter d)
(<= (legal solver (try ?k)) (letter ?k))
(<= (next (at ?y)) (true (at ?x)) (succ ?x ?y))
(<= (next wrong) (true wrong))
(<= (next wrong) (true (at ?x)) (does solver (try ?k)) (not (key ?x ?k)))
(<= terminal (true (at 6)))
(<= (goal solver 80) (true (at 6)) (not (true wrong)))
(<= (goal solver 10) (true wrong))
(<= (goal solver 0) (not (true (at 6))) (not (true wrong)))
"""
"""One of 4096 lines is right; the best goal is not 100."""

RANSOM = """
(role hider) (role seeker) (init hidden) (place near) (place far) (worth near 40) (worth far 80)
(<= (legal ?r ?p) (role ?r) (place ?p))
(<= (next (kept ?p)) (does hider ?p) (does seeker ?q) (distinct ?p ?q))
(<= (next found) (does hider ?p) (does seeker ?p))
(<= terminal (not (true hidden)))
(<= (goal hider ?n) (true (kept ?p)) (worth ?p ?n))
(<= (goal hider 0) (true found))
(<= (goal hider 0) (true hidden))
(<= (goal seeker 20) (true (kept far)))
(<= (goal seeker 60) (true (kept near)))
(<= (goal seeker 100) (true found))
(<= (goal seeker 0) (true hidden))
"""
"""A far hiding place is worth twice as much: in equilibrium the hider is near two times of three, and sought far two
times of three."""

CHICKEN_RUN = """
(role a) (role b) (init (left 2)) (opponent a b) (opponent b a)
(<= (legal ?r ?x) (role ?r) (choice ?x))
(choice hold) (choice dodge) (choice yield)
(<= (next (left 1)) (true (left 2)))
(<= (next (out ?r)) (does ?r yield))
(<= (next (out ?r)) (does ?r dodge) (opponent ?r ?s) (does ?s hold))
(<= terminal (true (out ?r)))
(<= terminal (not (true (left 2))) (not (true (left 1))))
(<= both (true (out a)) (true (out b)))
(<= (goal ?r 0) (true (out ?r)) (not both))
(<= (goal ?r 100) (opponent ?r ?s) (true (out ?s)) (not both))
(<= (goal ?r 50) (role ?r) both)
(<= (goal ?r 50) (role ?r) (not (true (out a))) (not (true (out b))))
"""
"""Both choose at once, twice; `hold` loses to nothing, so the game is drawn."""


Think = Callable[..., Opinion]
OpinionAt = Callable[..., Opinion]
Board = Callable[..., State]


@pytest.fixture
def opinion_at(think: Think) -> OpinionAt:
    """A fresh engine's opinion of a state after some playouts, or when it stops by itself."""

    def run(machine: CircuitMachine, state: State, role: int, playouts: int | None = None) -> Opinion:
        engine = TreeSearch(machine, role, threads=1, memory_bytes=1 << 24, seed=1)
        engine.begin(state)
        return think(engine, playouts)

    return run


@pytest.fixture
def board(own: Compile) -> Board:
    """A state of tic-tac-toe, rows from the top."""

    def state(*rows: str, turn: str) -> State:
        facts: list[Term] = [("control", turn)]
        for y, row in enumerate(rows, 1):
            facts += [("cell", str(x), str(y), mark) for x, mark in enumerate(row, 1) if mark != "."]
        return own("tic_tac_toe").state(facts)

    return state


def mark(x: int, y: int) -> Term:
    """A move of tic-tac-toe."""
    return ("mark", str(x), str(y))


@pytest.mark.parametrize(
    ("rows", "turn", "role", "move", "goal"),
    [
        (("xx.", "oo.", "..."), "x", 0, mark(3, 1), 100.0),
        # A fork wins whatever the opponent does; the opponent knows that it is lost.
        (("x..", ".o.", "o.x"), "x", 0, mark(3, 1), 100.0),
        (("x.x", ".o.", "o.x"), "o", 1, None, 0.0),
        # Against a threat only one move does not lose.
        (("xx.", ".o.", "..."), "o", 1, mark(3, 1), None),
        (("...", "...", "..."), "x", 0, None, 50.0),
        # The only legal move is reported, with the value of the next position.
        (("xx.", "oo.", "..."), "x", 1, "noop", 0.0),
    ],
)
def test_proves_endings(
    own: Compile,
    opinion_at: OpinionAt,
    board: Board,
    rows: Sequence[str],
    turn: str,
    role: int,
    move: Term,
    goal: float,
) -> None:
    """Wins, losses and draws are reported without waiting for the flag."""
    opinion = opinion_at(own("tic_tac_toe"), board(*rows, turn=turn), role)
    assert move in (None, opinion.move)
    assert goal in (None, opinion.score.goal)
    assert opinion.final


def test_finds_the_solution_of_a_puzzle_and_follows_it(machine_of: Compile, think: Think) -> None:
    """Once a line reaches the best goal (here 80) every move is proven and the line is played out."""
    machine = machine_of(LOCKS)
    turns, end = play_match(machine, {0: tree_search(machine)}, think)
    assert machine.goal(end, 0) == 80
    assert all(turn[0].final for turn in turns)


def test_keeps_its_best_line_when_a_puzzle_is_not_proven(machine_of: Compile, think: Think) -> None:
    """The best match so far counts more than averages, and is kept between moves."""
    machine = machine_of(LOCKS)
    engine = tree_search(machine)
    engine._parameters.best_goal[0] = 1.0  # as if the rules named a goal that no line reaches
    first = think(engine)
    assert first.score.goal == 80.0
    state = machine.next(machine.initial(), [first.move])
    engine.advance((first.move,), state)
    stop = np.ones(1, np.uint8)
    opinions: list[Opinion] = []
    engine.think(stop, opinions.append, UNLIMITED)
    assert opinions[-1].score.goal == 80.0


def test_mixes_where_any_fixed_choice_would_lose(machine_of: Compile, think: Think) -> None:
    """In matching pennies both sides come up, and neither is expected to do better than even."""
    machine = machine_of(PENNIES)
    moves = set()
    for seed in range(8):
        engine = tree_search(machine, seed=seed)
        opinion = think(engine, 5_000)
        moves.add(opinion.move)
        assert opinion.score is not None
        assert 30 < opinion.score.goal < 70
        assert not opinion.final
    assert moves == {"heads", "tails"}


def test_finds_the_dominant_choice_of_a_simultaneous_game(machine_of: Compile, opinion_at: OpinionAt) -> None:
    """A move that is best against everything is played without mixing."""
    machine = machine_of(DILEMMA)
    assert {opinion_at(machine, machine.initial(), role, 5_000).move for role in (0, 1)} == {("take", "3")}


def test_mixes_in_the_proportions_of_the_equilibrium(machine_of: Compile, think: Think) -> None:
    """Neither visits nor means show them: a move is played often to make the other side's moves worth the same."""
    machine = machine_of(RANSOM)
    for role, often in ((0, "near"), (1, "far")):
        engine = tree_search(machine, role)
        think(engine, 5_000)
        root = read_root(engine._tree, role, -1)
        moves = [machine.game.moves[role][int(move) - machine.programs.role_start[role]] for move in root.moves]
        strategy = dict(zip(moves, root.strategy / root.strategy.sum(), strict=True))
        assert strategy[often] == pytest.approx(2 / 3, abs=0.08)


def test_proves_a_saddle_point_of_a_simultaneous_game(machine_of: Compile, opinion_at: OpinionAt) -> None:
    """Where each side has a move that guarantees its part, the search ends."""
    machine = machine_of(CHICKEN_RUN)
    for role in (0, 1):
        opinion = opinion_at(machine, machine.initial(), role)
        assert (opinion.move, opinion.score.goal, opinion.final) == ("hold", 50.0, True)


def test_three_players_each_look_after_themselves(own: Compile, opinion_at: OpinionAt) -> None:
    """A player completes its own line, and stops the next player's."""
    machine = own("three_way_line")
    facts = [("cell", str(x), "1", "red") for x in (1, 2)] + [("cell", str(x), "3", "green") for x in (1, 2)]
    facts += [("cell", "2", "5", "blue")]
    state = machine.state([*facts, ("turn", "red")])
    opinion = opinion_at(machine, state, 0)
    assert (opinion.move, opinion.score.goal, opinion.final) == (("mark", "3", "1"), 100.0, True)
    state = machine.state([fact for fact in facts if "red" not in fact] + [("turn", "red")])
    assert opinion_at(machine, state, 0, 5_000).move == ("mark", "3", "3")


def test_the_random_role_plays_at_random(machine_of: Compile, opinion_at: OpinionAt) -> None:
    """Chance is averaged over, not chosen: the expected goal decides, and is proven."""
    machine = machine_of(LOTTERY)
    opinion = opinion_at(machine, machine.initial(), 0, 1000)
    assert (opinion.move, opinion.score.goal, opinion.final) == (("buy", "bold"), pytest.approx(60), True)


@pytest.mark.parametrize("name", ["breakthrough", "reversi", "eight_puzzle"])
def test_stops_soon_after_the_flag(name: str, own: Compile) -> None:
    """An endless kernel returns, after finishing only the lanes under way."""
    machine = own(name)
    engine = tree_search(machine)
    for _ in range(5):
        engine._scheduler._budgets[0] = 1 << 40
        begin = work(engine)
        with StopWhen(lambda begin=begin: work(engine) > begin + 500, lambda: work(engine)) as stop:
            engine.think(stop.flag, lambda opinion: None, UNLIMITED)
        assert stop.counted is not None
        assert work(engine) - stop.counted <= 512


def work(engine: TreeSearch) -> int:
    """An engine's work so far: playouts and enumerated states."""
    enumeration = engine._scheduler._enumeration
    return int(engine._tree.counts[N_PLAYOUTS]) + (enumeration.states if enumeration is not None else 0)


def consistent(engine: TreeSearch, lost: float = 0.0) -> None:
    """Fails unless nothing is pending and every visit of a node's edges is one of the node's.

    Threads that share a tree may lose a count now and then: up to `lost` of a node's visits, as a share.
    """
    tree = engine._tree
    roles = tree.stats.shape[1]
    for node in range(int(tree.counts[N_NODES])):
        assert tree.node[node]["visits"] >= 0
        assert lost or tree.node[node]["pending"] == 0
        for role in range(roles):
            first, size = tree.stats[node, role]["first_edge"], tree.stats[node, role]["n_edges"]
            edges = tree.edge[first : first + size]
            assert (edges["visits"] >= 0).all()
            assert lost or (edges["pending"] == 0).all()
            allowed = lost * tree.node[node]["visits"] + 100 * (lost > 0)
            assert edges["visits"].sum() <= tree.node[node]["visits"] + allowed + 1e-9
            assert (edges["total"] <= edges["visits"] + allowed + 1e-6).all()
            assert (edges["child"] < tree.counts[N_NODES]).all()


@pytest.mark.parametrize("name", ["connect_four", "rock_paper_scissors"])
def test_keeps_what_it_knows_of_the_next_position(name: str, own: Compile, think: Think) -> None:
    """After a joint move the subtree becomes the tree, with its playouts."""
    machine = own(name)
    engine = tree_search(machine)
    think(engine, 5_000)
    consistent(engine)
    state = machine.next(machine.initial(), [machine.legal(machine.initial(), role)[0] for role in range(2)])
    node, _ = find_node(engine._tree, machine.pack(state))
    visits = int(engine._tree.node[node]["visits"])
    assert visits > 20
    engine.advance((machine.legal(machine.initial(), 0)[0], machine.legal(machine.initial(), 1)[0]), state)
    root = int(engine._tree.counts[ROOT])
    assert engine._tree.node[root]["visits"] == visits
    think(engine, 1_000)
    assert engine._tree.node[int(engine._tree.counts[ROOT])]["visits"] > visits


@pytest.mark.parametrize("name", ["connect_four", "rock_paper_scissors"])
def test_compaction_keeps_the_statistics_of_what_it_keeps(name: str, own: Compile, think: Think) -> None:
    """Every node below the new root has its visits, goals and edges; nothing else is left; the search goes on."""
    machine = own(name)
    engine = tree_search(machine)
    think(engine, 5_000)
    tree = engine._tree
    state = machine.next(machine.initial(), [machine.legal(machine.initial(), role)[-1] for role in range(2)])
    root, _ = find_node(tree, machine.pack(state))
    before = {}
    for node in range(int(tree.counts[N_NODES])):
        first, size = int(tree.stats[node, 0]["first_edge"]), int(tree.stats[node, 0]["n_edges"])
        visits = tree.edge["visits"][first : first + size].tolist()
        before[tree.state[node].tobytes()] = (tree.node[node]["visits"], tree.stats[node, 0]["total"], visits)
    n_nodes, n_edges = int(tree.counts[N_NODES]), int(tree.counts[N_EDGES])
    tree.counts[ROOT] = keep_reachable(tree, root)
    assert tree.state[tree.counts[ROOT]].tobytes() == machine.pack(state).tobytes()
    assert 10 < tree.counts[N_NODES] < n_nodes
    assert tree.counts[N_EDGES] < n_edges
    for node in range(int(tree.counts[N_NODES])):
        first, size = int(tree.stats[node, 0]["first_edge"]), int(tree.stats[node, 0]["n_edges"])
        visits = tree.edge["visits"][first : first + size].tolist()
        assert before[tree.state[node].tobytes()] == (tree.node[node]["visits"], tree.stats[node, 0]["total"], visits)
        assert find_node(tree, tree.state[node])[0] == node
    think(engine, 1_000)
    consistent(engine)


@pytest.mark.parametrize("name", ["connect_four", "rock_paper_scissors", "eight_puzzle", "three_way_line"])
def test_a_full_tree_does_not_stop_the_search(name: str, own: Compile, think: Think) -> None:
    """With hardly any memory the search lasts through a whole match, with legal moves."""
    machine = own(name)
    engine = TreeSearch(machine, 0, threads=1, memory_bytes=1, seed=1)
    state = machine.initial()
    engine.begin(state)
    steady(engine, single=True)
    rng = random.Random(1)
    fullest = 0.0
    for _ in range(12):
        if machine.terminal(state):
            break
        opinion = think(engine, 5_000)
        used = filled(engine._tree)
        fullest = max(fullest, used)
        assert used <= 1.0
        assert opinion.move in machine.legal(state, 0)
        others = [rng.choice(machine.legal(state, role)) for role in range(1, len(machine.roles))]
        joint = (opinion.move, *others)
        state = machine.next(state, joint)
        engine.advance(joint, state)
    assert fullest > 0.5 or name == "rock_paper_scissors"  # which has only a few hundred states


def test_makes_room_by_forgetting_what_is_hardly_visited(own: Compile, think: Think) -> None:
    """In a full tree nodes are forgotten and others made, and the most visited moves keep their children."""
    machine = own("connect_four")
    engine = tree_search(machine, memory_bytes=1 << 20)
    steady(engine, single=True)
    made = []
    counts = engine._tree.counts
    for _ in range(20):
        think(engine, 2_000)
        made.append(int(counts[N_NODES]))
    drops = [i for i, (before, after) in enumerate(itertools.pairwise(made)) if after < before]
    assert len(drops) >= 2
    assert all(made[i + 1] > 0.3 * made[i] for i in drops)
    consistent(engine)
    root = int(counts[ROOT])
    first, size = int(engine._tree.stats[root, 0]["first_edge"]), int(engine._tree.stats[root, 0]["n_edges"])
    edges = engine._tree.edge[first : first + size]
    assert edges["child"][edges["visits"].argmax()] >= 0
    assert edges["visits"].sum() > 10_000


def test_ends_in_a_full_tree_when_nothing_better_is_possible(own: Compile, think: Think) -> None:
    """Making room for nodes ends once a puzzle's best match is proven to be the best."""
    machine = own("eight_puzzle")
    engine = tree_search(machine, memory_bytes=1)
    think(engine, 20_000)
    # A little less than half is left when room has just been made.
    assert filled(engine._tree) > 0.4
    line = engine.lines.best()
    assert line is not None
    engine.lines.limit(line.goal)
    assert think(engine).final


def test_another_path_is_no_reason_to_look_at_all_children(own: Compile, think: Think) -> None:
    """Where children are too dear, only the root's are made, whatever paths lead to a node."""
    machine = own("connect_four")
    engine = tree_search(machine)
    costs = engine._workspaces[0].costs
    # As if a pass of the lanes had taken a thousand years.
    costs[PASS_TIME], costs[PASSES], costs[BATCHES] = 3e19, 1.0, 1.0
    think(engine, 5_000)
    tree = engine._tree
    nodes = int(tree.counts[N_NODES])
    children = tree.edge["child"][: int(tree.counts[N_EDGES])]
    assert np.bincount(children[children >= 0]).max() > 1  # Some node was reached by several paths.
    assert np.flatnonzero(tree.node["expanded"][:nodes]).tolist() == [int(tree.counts[ROOT])]


def test_several_threads_search_one_tree(own: Compile, think: Think) -> None:
    """Two threads leave a consistent tree and the same proof as one."""
    machine = own("connect_four")
    engine = TreeSearch(machine, 0, threads=2, memory_bytes=1 << 24, seed=1)
    engine.begin(machine.initial())
    think(engine, 5_000)
    consistent(engine, lost=0.1)
    engine = TreeSearch(own("tic_tac_toe"), 0, threads=2, memory_bytes=1 << 24, seed=1)
    engine.begin(own("tic_tac_toe").initial())
    opinion = think(engine)
    assert (opinion.score.goal, opinion.final) == (50.0, True)


@pytest.mark.parametrize("role", [0, 1])
def test_beats_a_random_player(own: Compile, think: Think, role: int) -> None:
    """In connect four, as either side, with few playouts."""
    machine = own("connect_four")
    _, end = play_match(machine, {role: tree_search(machine, role)}, lambda engine: think(engine, 1_000), seed=3)
    assert machine.goal(end, role) == 100


def test_says_nothing_where_it_has_no_move(own: Compile, board: Board) -> None:
    """In a terminal state there is nothing to report, and thinking ends at once."""
    machine = own("tic_tac_toe")
    state = board("xxx", "oo.", "...", turn="o")
    engine = TreeSearch(machine, 0, threads=1, memory_bytes=1 << 20)
    engine.begin(state)
    opinions: list[Opinion] = []
    engine.think(np.zeros(1, np.uint8), opinions.append, UNLIMITED)
    assert opinions == []


def test_exploration_suits_how_much_goals_differ(own: Compile, think: Think) -> None:
    """In connect four half of all playouts are won; ends that are worth half as much differ half as much."""
    weights = []
    for worth in (1.0, 0.5):
        engine = TreeSearch(own("connect_four"), 0, threads=1, memory_bytes=1 << 26, seed=1)
        engine.begin(engine.machine.initial())
        engine.machine.programs.goal_value[:] *= worth
        think(engine, 600)
        engine.machine.programs.goal_value[:] /= worth
        weights.append(engine._parameters.exploration.copy())
    assert weights[0] == pytest.approx(0.5 * EXPLORATION, rel=0.1)
    assert weights[1] == pytest.approx(0.25 * EXPLORATION, rel=0.1)


def test_the_first_word_on_a_proven_position_tells_all(own: Compile, think: Think) -> None:
    """Whoever listens takes a final opinion for the last: it has the moves that were looked at."""
    engine = tree_search(own("tic_tac_toe"))
    think(engine)
    opinions: list[Opinion] = []
    engine.think(np.zeros(1, np.uint8), opinions.append, UNLIMITED)
    assert opinions[0].final
    assert opinions[0].candidates
    assert opinions[0].line
