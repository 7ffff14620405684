"""`CircuitMachine` against the interpreter: one state, batches of states, random playouts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from games import rulesheets
from games.gdl.running import machine as running_machine
from games.gdl.running.machine import CircuitMachine
from games.machine import IllegalMoveError, UnknownFactError
from tests import circuits
from tests.matches import first_difference, interpreter_of

PATHS = """
(role red) (role blue) (other red blue) (other blue red)
(node 1) (node 2) (node 3) (node 4) (node 5) (node 6)
(road 1 2) (road 2 3) (road 3 4) (road 4 5) (road 5 6) (road 6 1) (road 2 5)
(<= (joined ?x ?y) (or (road ?x ?y) (road ?y ?x)))
(init (turn red)) (init (free 1)) (init (free 2)) (init (free 3)) (init (free 4)) (init (free 5)) (init (free 6))
(<= (legal ?r (take ?x)) (true (turn ?r)) (true (free ?x)))
(<= (legal ?r wait) (role ?r) (not (true (turn ?r))))
(<= (next (own ?r ?x)) (does ?r (take ?x)))
(<= (next (own ?r ?x)) (true (own ?r ?x)))
(<= (next (free ?x)) (true (free ?x)) (not (taken ?x)))
(<= (taken ?x) (does ?r (take ?x)))
(<= (next (turn ?r)) (true (turn ?s)) (other ?s ?r))
(<= (link ?r ?x ?y) (true (own ?r ?x)) (true (own ?r ?y)) (joined ?x ?y))
(<= (reach ?r ?x ?y) (link ?r ?x ?y))
(<= (reach ?r ?x ?z) (reach ?r ?x ?y) (reach ?r ?y ?z))
(<= (won ?r) (reach ?r 1 4))
(<= open (true (free ?x)))
(<= terminal (won ?r))
(<= terminal (not open))
(<= (goal ?r 100) (won ?r))
(<= (goal ?r 0) (role ?r) (not (won ?r)))
"""
"""Connectivity as positive cycles, and facts that a chain of negations decides."""

MEETING = """
(role a) (role b) (role c)
(init (at a 0)) (init (at b 2)) (init (at c 0)) (init (clock 0)) (init (weather fine))
(step 0 1) (step 1 2) (step 2 3) (step 3 0) (tick 0 1) (tick 1 2) (tick 2 3) (tick 3 4)
(<= (legal ?r (go ?y)) (true (at ?r ?x)) (or (step ?x ?y) (step ?y ?x)) (distinct ?r c))
(<= (legal ?r stay) (role ?r) (distinct ?r b))
(<= (legal b stay) (true (at b 2)))
(<= (next (at ?r ?y)) (does ?r (go ?y)))
(<= (next (at ?r ?x)) (true (at ?r ?x)) (does ?r stay))
(<= (next (clock ?y)) (true (clock ?x)) (tick ?x ?y))
(<= (next (weather fine)) (true (weather fine)))
(<= (next (met ?x)) (does a (go ?x)) (does b (go ?x)))
(<= (next (met ?x)) (true (met ?x)) (not (true (weather foul))))
(<= terminal (true (clock 4)))
(<= (goal ?r 100) (role ?r) (true (met ?x)))
(<= (goal ?r 40) (role ?r) (true (at a ?x)) (true (at b ?x)))
(<= (goal a 10) (true (at a 0)))
"""
"""Simultaneous moves, a role with one move, constant fluents, goals without and with several values."""

STUCK = """
(role walker) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(<= (legal walker (to ?y)) (true (at ?x)) (succ ?x ?y))
(<= (legal walker (jump ?y)) (true (at 0)) (succ ?x ?y))
(<= (next (at ?y)) (does walker (to ?y)))
(<= (next (at ?y)) (does walker (jump ?y)))
(<= terminal (true (at 2)))
(<= (goal walker 100) (true (at 2)))
(<= (goal walker 0) (not (true (at 2))))
"""
"""A role that jumps to 3 has no legal move there, though the match is not over."""

GRID = (
    " ".join(f"(n {i}) (succ {i} {i + 1})" for i in range(12))
    + """
(role x) (role y) (init (place 3 3)) (init (count 0))
(<= (legal ?r (mark ?i ?j)) (role ?r) (n ?i) (n ?j) (not (true (marked ?i ?j))))
(<= (next (marked ?i ?j)) (does ?r (mark ?i ?j)))
(<= (next (marked ?i ?j)) (true (marked ?i ?j)))
(<= (next (clash ?i)) (does x (mark ?i ?j)) (does y (mark ?i ?k)))
(<= (next (count ?m)) (true (count ?k)) (succ ?k ?m))
(<= full (true (marked 0 ?j)) (true (marked 1 ?k)) (true (marked 2 ?l)))
(<= hit (true (marked ?i ?i)))
(<= terminal (true (count 6)))
(<= terminal full)
(<= (goal ?r 100) (role ?r) hit)
(<= (goal ?r 50) (role ?r) (not hit) full)
(<= (goal ?r 0) (role ?r) (not hit) (not full))
"""
)
"""144 moves per role, gates with many inputs."""

OWN = {"paths": PATHS, "meeting": MEETING, "stuck": STUCK, "grid": GRID}


def text_of(name: str) -> str:
    """The text of a sheet of this file or of the package."""
    return OWN[name] if name in OWN else rulesheets.text(name)


def machine_of(name: str) -> CircuitMachine:
    """The circuit of a sheet of this file or of the package."""
    return circuits.machine_of(text_of(name))


@pytest.mark.parametrize(
    ("name", "matches"),
    [
        ("paths", 15),
        ("meeting", 15),
        ("stuck", 8),
        ("grid", 3),
        ("tic_tac_toe", 10),
        ("three_way_line", 3),
        ("rock_paper_scissors", 5),
        ("breakthrough", 1),
    ],
)
def test_plays_as_the_interpreter_does(name: str, matches: int) -> None:
    """Facts, legal moves, ends and goals agree over random matches."""
    assert first_difference(machine_of(name), interpreter_of(text_of(name)), matches, plies=40) is None


@pytest.mark.parametrize("name", ["paths", "meeting", "stuck", "grid", "connect_four"])
def test_batches_say_what_single_states_say(name: str) -> None:
    """Legal moves, ends, successors and goals of more than 64 states at once equal those asked one by one."""
    machine = machine_of(name)
    positions = machine.random_matches(70, 3)
    states = positions.states[::5]
    joint = positions.joint[::5]
    legal, terminal = machine.legal_of(states)
    nexts = machine.next_of(states, joint)
    goals = machine.goals_of(states)
    assert len(states) > 14
    for i, words in enumerate(states):
        state = machine.unpack(words)
        assert np.array_equal(machine.pack(state), words)
        assert machine.terminal(state) == terminal[i]
        listed = np.split(legal[i], machine.programs.role_start[1:-1])
        for role, open_moves in enumerate(listed):
            moves = [machine.game.moves[role][k] for k in np.flatnonzero(open_moves)]
            assert machine.legal(state, role) == moves
            assert machine.goal(state, role) == (int(goals[i, role]) if not np.isnan(goals[i, role]) else None)
        if joint[i, 0] >= 0:
            moves = [machine.game.moves[role][k] for role, k in enumerate(joint[i])]
            assert machine.next(state, moves) == machine.unpack(nexts[i])


@pytest.mark.parametrize("name", ["paths", "meeting", "tic_tac_toe"])
def test_random_matches_are_whole_and_legal(name: str) -> None:
    """Positions of a match follow from each other by its joint moves, from the initial state to the end."""
    machine = machine_of(name)
    positions = machine.random_matches(100, 5)
    nexts = machine.next_of(positions.states, positions.joint)
    legal, terminal = machine.legal_of(positions.states)
    assert np.array_equal(terminal, positions.terminal)
    assert sorted(set(positions.match.tolist())) == list(range(100))
    for match in range(100):
        rows = np.flatnonzero(positions.match == match)
        assert machine.unpack(positions.states[rows[0]]) == machine.initial()
        assert terminal[rows].tolist() == [False] * (len(rows) - 1) + [True]
        assert np.array_equal(nexts[rows[:-1]], positions.states[rows[1:]])
        moves = positions.joint[rows[:-1]] + machine.programs.role_start[:-1]
        assert legal[rows[:-1, None], moves].all()


def test_random_matches_are_cut_where_asked() -> None:
    """No match has more plies than `max_plies`, and the last position has no joint move."""
    positions = machine_of("connect_four").random_matches(5, 1, max_plies=3)
    for match in range(5):
        mine = positions.match == match
        assert mine.sum() == 4
        assert (positions.joint[mine][-1] == -1).all()
        assert (positions.joint[mine][:-1] >= 0).all()


def test_the_sample_is_played_once_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the facts of its positions, so that all machines see the same matches; 64 in any case."""
    machine = CircuitMachine(machine_of("tic_tac_toe").game)
    assert machine.sample is machine.sample
    assert len(np.unique(machine.sample.match)) == running_machine.SAMPLED_MATCHES
    position = len(machine.game.fluents) + machine.game.edges // 256 + 1
    for facts, matches in ((0, 64), (64 * 9 * position, 128)):
        monkeypatch.setattr(running_machine, "SAMPLED_FACTS", facts)
        assert len(np.unique(CircuitMachine(machine.game).sample.match)) == matches


def test_facts_that_never_change_belong_to_every_state() -> None:
    """They are listed, asked for, and may not be missing; a fact that can never hold is refused."""
    machine = machine_of("meeting")
    state = machine.initial()
    facts = machine.facts(state)
    assert ("weather", "fine") in facts
    assert machine.state(facts) == state
    with pytest.raises(UnknownFactError, match="weather"):
        machine.state(facts - {("weather", "fine")})
    with pytest.raises(UnknownFactError, match="nowhere"):
        machine.state(facts | {"nowhere"})


def test_refuses_moves_that_nobody_can_make() -> None:
    """An unknown move and a joint move of the wrong length are errors, not other moves."""
    machine = machine_of("tic_tac_toe")
    state = machine.initial()
    good = [machine.legal(state, role)[0] for role in range(2)]
    for joint in ([good[0]], [*good, good[1]], [good[0], "fly"], []):
        with pytest.raises(IllegalMoveError):
            machine.next(state, joint)


def test_survives_pickling() -> None:
    """A machine that was pickled plays the same states and moves."""
    machine = machine_of("paths")
    twin = pickle.loads(pickle.dumps(machine))
    assert first_difference(twin, machine, matches=1) is None
    assert twin.initial() == machine.initial()


STOPPING = """
(role r) (init (count 0))
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7) (succ 7 8)
(<= (legal r stop) (true (count ?x)))
(<= (legal r go) (true (count ?x)))
(<= (next (count ?y)) (true (count ?x)) (succ ?x ?y) (does r go))
(<= (next done) (does r stop))
(<= (next (first stop)) (does r stop) (true (count 0)))
(<= terminal (true done)) (<= terminal (true (count 8)))
(<= (goal r 100) (true (first stop)))
(<= (goal r 0) (not (true (first stop))))
"""
"""A match lasts one ply with probability 1/2 (and is worth 100 then), two with 1/4, ... and at most eight."""


@pytest.mark.parametrize("playouts", [1 << 9, 1 << 9 | 77, 20_000])
def test_playouts_are_a_fair_sample(playouts: int) -> None:
    """Short matches count no more than long ones: goals and lengths have their exact expectations."""
    machine = circuits.machine_of(STOPPING)
    goal_mean = np.zeros(1)
    plies = count = 0
    for seed in range(1, 1 + 40_000 // playouts):
        result = machine.random_playouts(playouts=playouts, seed=seed)
        assert result.playouts == playouts
        goal_mean += result.goal_sums
        plies += result.transitions
        count += playouts
        assert result.goal_squares[0] == 100 * result.goal_sums[0]
    assert goal_mean[0] / count == pytest.approx(50, abs=5 * 50 / count**0.5)
    assert plies / count == pytest.approx(2 - 2**-7, abs=5 * 1.4 / count**0.5)


@pytest.mark.parametrize("name", ["meeting", "paths"])
def test_playouts_agree_with_random_matches(name: str) -> None:
    """Mean goals of playouts are those of random matches evaluated state by state."""
    machine = machine_of(name)
    positions = machine.random_matches(3000, 11)
    goals = machine.worths_of(positions.states[positions.terminal])
    result = machine.random_playouts(playouts=4000, seed=9)
    assert result.dead_ends == 0
    assert result.goal_sums / result.playouts == pytest.approx(goals.mean(axis=0), abs=5 * 50 / 3000**0.5)
    length = len(positions.states) / 3000 - 1
    assert result.transitions / result.playouts == pytest.approx(length, rel=0.05)


def test_playouts_report_dead_ends() -> None:
    """A match in which a role has no legal move before the end stops there and is counted as such."""
    result = machine_of("stuck").random_playouts(playouts=6000)
    # (to 1), (jump 1), (jump 2), (jump 3): a quarter is stuck, the others arrive at 2.
    assert result.dead_ends / result.playouts == pytest.approx(0.25, abs=0.03)
    assert result.goal_sums[0] / result.playouts == pytest.approx(75, abs=3)


def test_playouts_stop_when_told() -> None:
    """With the stop flag up, no match is played to the end."""
    stop = np.ones(1, np.uint8)
    assert machine_of("connect_four").random_playouts(seconds=60.0, stop=stop).playouts == 0


class Ticking:
    """A clock of CPU time that advances by a third of a second per reading."""

    def __init__(self) -> None:
        self.looks = 0

    def thread_time(self) -> float:
        self.looks += 1
        return self.looks / 3


def test_playouts_run_for_the_time_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batch after batch until that much CPU time is over; each plays at least one match per lane."""
    clock = Ticking()
    monkeypatch.setattr(running_machine, "time", clock)
    result = machine_of("connect_four").random_playouts(seconds=1.0)
    assert result.cpu_seconds == pytest.approx(1.0)
    assert clock.looks == 1 + 3
    assert result.playouts >= 3 * 8 * 64
