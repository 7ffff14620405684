"""The possible states in games of imperfect information, and after missed messages."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import pytest

from agent.playing import belief as beliefs
from agent.playing.belief import Belief
from agent.playing.belief_search import BeliefSearch
from agent.playing.evidence import ANY_MISSED, Hidden, Told
from agent.playing.messages import Checkpoint, JointMove, Judged, Unseen
from agent.playing.reference import Reference
from agent.record.spelling import states_to_json
from agent.search.engine import Opinion
from games import rulesheets
from games.machine import State, StateMachine, Term
from tests.agent.playing.hidden_games import BLIND_TIC_TAC_TOE, CARDS, HiddenMatch
from tests.matches import interpreter_of, own_interpreter

GENEROUS = 600.0
"""Seconds in which all states are found, however slow the machine is."""


BREAKTHROUGH = rulesheets.text("breakthrough")

THREE_COLUMNS = "(column 1) (column 2) (column 3)" + BREAKTHROUGH.replace(
    "(<= (init (cell ?x ?y ?role))\n    (index ?x)", "(<= (init (cell ?x ?y ?role))\n    (column ?x)"
)
"""Breakthrough with few men."""


ENDLESS = """
(role x) (init (at 0)) (next_to 0 1) (next_to 1 2) (next_to 2 0)
(<= (legal x stay) (true (at ?p))) (<= (legal x go) (true (at ?p)))
(<= (next (at ?p)) (does x stay) (true (at ?p)))
(<= (next (at ?q)) (does x go) (true (at ?p)) (next_to ?p ?q))
(<= terminal (true (at 3))) (goal x 0)
"""


CELLS: list[Term] = [("mark", str(a), str(b)) for a in (1, 2, 3) for b in (1, 2, 3)]
"""Moves of tic-tac-toe, row by row."""


def follow(reference: Reference, *messages: Unseen | Judged | JointMove) -> None:
    """Takes messages in, without a limit of time."""
    reference.budget = GENEROUS
    for message in messages:
        reference.follow(message)


def reference_of(match: HiddenMatch, seed: int = 0) -> Reference:
    """Returns the reference of the match's player, at the start."""
    return Reference(match.machine, match.role, Checkpoint(), match.perceive, random.Random(seed))


# ------------------------------------------------------------------------------------------------ imperfect information


def test_own_card_leaves_two_deals() -> None:
    """Two of six deals have the card that was seen, with equal probabilities."""
    match = HiddenMatch(CARDS, 0)
    reference = reference_of(match)
    follow(reference, match.advance("wait", random=("deal", "king", "queen")))
    weights = reference.belief.weights
    dealers = {fact for state in weights for fact in match.machine.facts(state) if fact[:2] == ("has", "dealer")}
    assert dealers == {("has", "dealer", "ace"), ("has", "dealer", "queen")}
    assert list(weights.values()) == pytest.approx([0.5, 0.5])
    assert match.state in weights
    assert reference.belief.exhaustive


def test_dealer_learns_of_the_bet_by_what_it_does_not_see() -> None:
    """Empty percepts are evidence, too."""
    match = HiddenMatch(CARDS, 1)
    reference = reference_of(match)
    follow(reference, match.advance("wait", random=("deal", "king", "queen")))
    assert len(reference.belief.weights) == 2
    follow(reference, match.advance("wait", player="bet"))
    assert not any("folded" in match.machine.facts(state) for state in reference.belief.weights)


@pytest.mark.parametrize(("card", "move"), [("ace", "bet"), ("queen", "fold")])
def test_cards_are_played_by_what_is_known(card: str, move: str) -> None:
    """The best card bets, the worst folds, whatever the other one is."""
    match = HiddenMatch(CARDS, 0)
    reference = reference_of(match)
    follow(reference, match.advance("wait", random=("deal", card, "king")))
    search = BeliefSearch(match.machine, 0, reference.belief.sample(64), reference.situation().legal)
    stop = np.zeros(1, np.uint8)
    opinions: list[Opinion] = []

    def report(opinion: Opinion) -> None:
        opinions.append(opinion)
        stop[0] = len(opinions) > 200

    search.think(stop, report)
    assert opinions[-1].move == move


def test_blind_player_learns_where_the_other_is() -> None:
    """A taken cell shows itself; cells that were not tried stay possible."""
    match = HiddenMatch(BLIND_TIC_TAC_TOE, 0)
    reference = reference_of(match)
    follow(reference, match.advance(("try", "1")))
    assert reference.sure
    follow(reference, match.advance("wait", o=("try", "5")))
    assert len(reference.belief.weights) == 8
    follow(reference, match.advance(("try", "5")))
    assert reference.sure
    assert reference.state == match.state


@pytest.mark.parametrize("role", [0, 1])
@pytest.mark.parametrize("source", [CARDS, BLIND_TIC_TAC_TOE])
def test_true_state_is_always_possible(source: str, role: int) -> None:
    """In random matches the true state stays possible, and moves legal in all states are legal."""
    for seed in range(5):
        match = HiddenMatch(source, role, seed)
        reference = reference_of(match)
        while not match.machine.terminal(match.state):
            legal = reference.situation().legal
            assert set(legal) == set(match.legal())
            follow(reference, match.advance(match.rng.choice(legal)))
            assert match.state in reference.belief.weights
            assert reference.belief.exhaustive
        assert reference.situation().turn == reference.turn


def test_sample_that_has_lost_the_true_state_is_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few states kept, further ones are found by searching histories again."""
    monkeypatch.setattr(beliefs, "LIMIT", 3)
    for seed in range(5):
        match = HiddenMatch(BLIND_TIC_TAC_TOE, 0, seed)
        reference = reference_of(match, seed)
        while not match.machine.terminal(match.state):
            assert set(reference.situation().legal) == set(match.legal())
            follow(reference, match.advance(match.rng.choice(match.legal())))
            assert len(reference.belief.weights) <= 10
            own = {fact for fact in match.machine.facts(match.state) if fact[0] == "mark" and fact[2] == "x"}
            assert all(own <= match.machine.facts(state) for state in reference.belief.weights)


def test_impossible_percepts_do_not_end_the_match() -> None:
    """Percepts that fit no state are ignored."""
    match = HiddenMatch(CARDS, 0)
    reference = reference_of(match)
    follow(reference, Unseen("wait", (("dealt", "joker"),)))
    assert len(reference.belief.weights) == 6
    assert set(reference.situation().legal) == {"bet", "fold"}


def test_own_move_that_was_replaced_is_noticed() -> None:
    """If percepts do not fit our answer, the manager made another move for us."""
    match = HiddenMatch(CARDS, 0)
    reference = reference_of(match)
    follow(reference, match.advance("wait", random=("deal", "king", "queen")), Unseen("nonsense", ()))
    assert reference.situation().terminal


@pytest.mark.parametrize("missed", [1, 2])
def test_missed_turns_are_any_turns(missed: int) -> None:
    """A message with the number of those missed before it means as much as one message for each."""
    match = HiddenMatch(BLIND_TIC_TAC_TOE, 0)
    one, each = (reference_of(match) for _ in range(2))
    follow(one, Unseen("noop", missed=missed))
    follow(each, *[Unseen(None)] * missed, Unseen("noop"))
    assert one.turn == each.turn == missed + 1
    assert one.belief.weights == pytest.approx(each.belief.weights)
    assert len(one.belief.weights) > 1


def test_thousand_missed_turns_take_no_longer_than_one() -> None:
    """The budget is that of a message. Nor do the weights vanish, whose product is below any float's range."""
    match = HiddenMatch(ENDLESS, 0)
    ticks = itertools.count()
    reference = Reference(match.machine, 0, Checkpoint(), None, random.Random(0), lambda: next(ticks) / 1000)
    for turn in (1001, 2002):
        reference.follow(Unseen(None, missed=1000))
        assert reference.turn == turn
        assert not reference.sure
        assert sum(reference.belief.weights.values()) == pytest.approx(1)
        assert next(ticks) < 2.5 * turn


# --------------------------------------------------------------------------------------------------- missed messages


def resumed(name: str) -> tuple[StateMachine, Reference]:
    """Returns a game of ours, and the first role's reference at its start."""
    machine = own_interpreter(name)
    return machine, Reference(machine, 0, Checkpoint(), rng=random.Random(0))


def after_one_move() -> tuple[StateMachine, Belief]:
    """Returns tic-tac-toe, and the first role's belief after its mark in the first cell."""
    machine = own_interpreter("tic_tac_toe")
    root = play(machine, machine.initial(), (CELLS[0], "noop"))
    return machine, Belief(machine, 0, {root: 1.0}, rng=random.Random(0))


def play(machine: StateMachine, state: State, *joint_moves: JointMove) -> State:
    """Returns the state after some joint moves."""
    for joint_move in joint_moves:
        state = machine.next(state, joint_move)
    return state


def drop(column: int) -> Term:
    """Returns a move of connect four."""
    return ("drop", str(column))


def test_missed_turns_leave_the_states_that_fit() -> None:
    """Our answer before the gap is known, the other's is not; the joint move told next is legal after both."""
    machine, reference = resumed("tic_tac_toe")
    x, o = ("mark", "1", "1"), ("mark", "2", "2")
    follow(reference, Judged((("mark", "3", "3"), "noop"), x, True))
    truth = play(machine, machine.initial(), (x, "noop"), ("noop", o), (("mark", "3", "3"), "noop"))
    assert truth in reference.belief.weights
    assert reference.belief.exhaustive
    assert not reference.sure
    assert reference.situation().legal == ("noop",)


def test_moves_that_are_legal_in_all_states_are_played() -> None:
    """A cell that the other may have taken is not chosen if there is a better one."""
    machine, reference = resumed("connect_four")
    state = machine.initial()
    for _ in range(2):
        follow(reference, (drop(1), "noop"), ("noop", drop(1)))
        state = play(machine, state, (drop(1), "noop"), ("noop", drop(1)))
    # There is room for two more in the first column, and two of the turns that were missed may have filled it.
    follow(reference, Judged(("noop", drop(2)), drop(1), True))
    situation = reference.situation()
    assert set(situation.legal) == {drop(column) for column in range(2, 9)} & set(machine.legal(state, 0))
    assert situation.states > 1


def test_illegal_joint_move_shows_that_turns_were_missed() -> None:
    """An illegal joint move shows missed turns, even without an interruption."""
    machine, reference = resumed("tic_tac_toe")
    follow(reference, ("noop", ("mark", "2", "2")))
    truth = play(machine, machine.initial(), (("mark", "1", "1"), "noop"), ("noop", ("mark", "2", "2")))
    assert truth in reference.belief.weights
    assert len(reference.situation().legal) == 8


def test_joint_move_told_in_time_leaves_no_doubt() -> None:
    """If the server has no reason to think so, nothing was missed."""
    machine, reference = resumed("tic_tac_toe")
    joint_move = (("mark", "1", "1"), "noop")
    state = play(machine, reference.state, joint_move)
    follow(reference, Judged(joint_move, joint_move[0], False))
    assert reference.state == state
    assert reference.sure


def test_state_is_known_again_once_one_is_left() -> None:
    """Later messages reduce the possible states."""
    machine, reference = resumed("tic_tac_toe")
    follow(reference, (CELLS[0], "noop"), ("noop", CELLS[1]), (CELLS[3], "noop"))
    truth = play(machine, reference.state, ("noop", CELLS[6]))
    counts = []
    follow(reference, Judged((CELLS[2], "noop"), "noop", True))
    truth = play(machine, truth, (CELLS[2], "noop"))
    for joint_move in (("noop", CELLS[4]), (CELLS[5], "noop"), ("noop", CELLS[7])):
        counts.append(len(reference.belief.weights))
        assert truth in reference.belief.weights
        follow(reference, Judged(joint_move, None, False))
        truth = play(machine, truth, joint_move)
    assert counts == sorted(counts, reverse=True)
    assert truth in reference.belief.weights


def test_illegal_answer_shows_the_state() -> None:
    """If the manager made another move for us, ours was illegal: the other had taken that cell."""
    machine, belief = after_one_move()
    assert belief.follow([Hidden("noop")], GENEROUS)
    assert belief.follow([Told((CELLS[2], "noop"), CELLS[1])], GENEROUS)
    marks = Counter(
        fact for state in belief.weights for fact in machine.facts(state) if fact[0] == "cell" and fact[3] == "o"
    )
    taken = [state for state in belief.weights if ("cell", "1", "2", "o") in machine.facts(state)]
    assert marks
    assert belief.likeliest in taken
    assert sum(belief.weights[state] for state in taken) > 0.7


def test_many_states_are_sampled_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more states than are kept, a sample is kept, all of which fit."""
    monkeypatch.setattr(beliefs, "LIMIT", 20)
    machine = own_interpreter("breakthrough")
    belief = Belief(machine, 0, {machine.initial(): 1.0}, rng=random.Random(1))
    last = machine.legal(machine.initial(), 0)[0]
    assert belief.follow([Told((last, "noop"), None, ANY_MISSED)], GENEROUS)
    assert 1 < len(belief.weights) <= 20
    assert not belief.exhaustive
    assert sum(belief.weights.values()) == pytest.approx(1)
    moves, support = belief.safest_moves(GENEROUS)
    assert moves == ["noop"]
    assert support == pytest.approx(1)


# -------------------------------------------------------------------------------------------------- wrong certainties


def test_nothing_is_sure_as_long_as_much_is_left_to_look_at() -> None:
    """A state is known only once all histories were searched."""
    machine, belief = after_one_move()
    known_before = belief.likeliest
    assert belief.follow([Told((CELLS[4], "noop"), "noop", ANY_MISSED)], 0.0)
    assert not belief.exhaustive
    assert not belief.sure
    assert belief.refine(lambda: False)
    assert belief.exhaustive
    assert len(belief.weights) > 1
    assert play(machine, known_before, ("noop", CELLS[8]), (CELLS[4], "noop")) in belief.weights


def test_search_that_is_stopped_again_and_again_finds_the_same() -> None:
    """An interrupted search that goes on finds the same states and probabilities as one without a break."""
    machine = own_interpreter("tic_tac_toe")
    root = play(machine, machine.initial(), (CELLS[0], "noop"), ("noop", CELLS[8]))
    evidence = [Told((CELLS[4], "noop"), CELLS[1], ANY_MISSED), Told(("noop", CELLS[5]))]
    at_once = Belief(machine, 0, {root: 1.0}, rng=random.Random(1))
    in_pieces = Belief(machine, 0, {root: 1.0}, rng=random.Random(2))
    for step in evidence:
        assert at_once.follow([step], GENEROUS)
        assert in_pieces.follow([step], 0.0)
    for asked in (10, 100, 10_000):
        assert not in_pieces.exhaustive
        in_pieces.refine(iter([False] * asked + [True]).__next__)
    assert in_pieces.exhaustive
    assert in_pieces.weights == pytest.approx(at_once.weights, rel=0.01)


def known(machine: StateMachine, state: State) -> Checkpoint:
    """Returns the checkpoint of a state that is known after the first joint move."""
    return Checkpoint(1, states_to_json([(machine.facts(state), 1.0)]))


@pytest.mark.parametrize(
    ("between", "last"),
    [((), CELLS[4]), (((CELLS[4], "noop"), ("noop", CELLS[5])), CELLS[7])],
    ids=["now", "later"],
)
def test_move_made_for_us_reopens_a_doubt_that_was_settled(between: tuple[JointMove, ...], last: Term) -> None:
    """If the manager replaces our legal move long after a gap, that move was illegal after all."""
    machine = own_interpreter("tic_tac_toe")
    before = play(machine, machine.initial(), (CELLS[0], "noop"))
    reference = Reference(machine, 0, known(machine, before), rng=random.Random(0))
    truth = play(machine, before, ("noop", CELLS[1]), (CELLS[2], "noop"), ("noop", CELLS[3]))
    follow(reference, ("noop", CELLS[3]))
    assert reference.sure
    assert CELLS[1] in reference.situation().legal
    follow(reference, *between)
    assert reference.sure
    # Our answer was the cell that the other had taken while we were not there.
    follow(reference, Judged((last, "noop"), CELLS[1], False))
    assert not reference.sure
    assert play(machine, truth, *between, (last, "noop")) in reference.belief.weights


def test_move_made_for_us_is_no_reason_for_doubt_where_there_never_was_one() -> None:
    """Without a doubt before, our answer just came too late."""
    machine, reference = resumed("tic_tac_toe")
    follow(reference, Judged((CELLS[1], "noop"), CELLS[0], False))
    assert reference.sure
    assert reference.state == play(machine, machine.initial(), (CELLS[1], "noop"))


def test_illegal_joint_move_reopens_a_doubt_that_was_settled() -> None:
    """An illegal joint move after an unsuspicious restart leads back to the turns missed then, rather than to ones
    missed just now."""
    assert THREE_COLUMNS.count("(column ?x)") == 1
    machine = interpreter_of(THREE_COLUMNS)
    state = machine.initial()
    path: list[JointMove] = []
    for role, which in ((0, 0), (1, 0), (0, -1), (1, -1)):
        move = machine.legal(state, role)[which]
        path.append((move, "noop") if role == 0 else ("noop", move))
        state = machine.next(state, path[-1])
    before = play(machine, machine.initial(), path[0])
    reference = Reference(machine, 0, known(machine, before), rng=random.Random(0))
    follow(reference, path[3])
    assert reference.sure
    moved_on = next(move for move in machine.legal(state, 0) if move not in machine.legal(reference.state, 0))
    follow(reference, (moved_on, "noop"))
    assert not reference.sure
    assert play(machine, state, (moved_on, "noop")) in reference.belief.weights


def test_probable_state_is_known_although_others_are_possible() -> None:
    """A very probable state counts as known, for the engine thinks about one state only; the others come back if it is
    wrong."""
    _, belief = after_one_move()
    assert belief.follow([Told(("noop", CELLS[1]), "noop", (500.0, 0.0, 1.0))], GENEROUS)
    assert belief.sure
