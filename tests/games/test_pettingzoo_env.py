"""Games as PettingZoo environments."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.circuits import machine_of, own_machine

with warnings.catch_warnings():
    # Its imports warn.
    warnings.simplefilter("ignore")
    pytest.importorskip("pettingzoo")
    from pettingzoo.test import api_test, seed_test

    from games.pettingzoo_env import GameEnvironment

DICE = """
(role random) (role player)
(init (step 0)) (after 0 1) (after 1 2)
(<= (legal random (throw ?n)) (after ?n ?m))
(legal player (bet 0)) (legal player (bet 1))
(<= (next (step ?n)) (true (step ?m)) (after ?m ?n))
(<= (next right) (does random (throw ?n)) (does player (bet ?n)))
(<= terminal (true (step 2)))
(<= (goal player 100) (true right)) (<= (goal player 0) (not (true right)))
(goal random 0)
"""

DEAD_END = """
(role a) (init (f 1))
(<= (legal a go) (true (f 1))) (<= (legal a wait) (true (f 1)))
(<= (next (f 2)) (does a go))
(<= (next (f 1)) (does a wait))
(<= terminal (true (f 3)))
(goal a 0)
"""


@pytest.mark.parametrize("game", ["tic_tac_toe", "rock_paper_scissors", "three_way_line"])
def test_is_what_pettingzoo_wants(game: str) -> None:
    """By PettingZoo's own tests: turns, simultaneous moves, three roles."""
    machine = own_machine(game)
    with warnings.catch_warnings():
        # They warn of observations that are not images.
        warnings.simplefilter("ignore")
        api_test(GameEnvironment(machine), num_cycles=200)
        seed_test(lambda: GameEnvironment(machine), num_cycles=50)


def test_whole_match() -> None:
    """A role with one legal move is not asked; the reward is the goal, and adds up for both."""
    machine = own_machine("tic_tac_toe")
    environment = GameEnvironment(machine, render_mode="ansi")
    environment.reset()
    asked = []
    rewards = dict.fromkeys(environment.possible_agents, 0.0)
    for agent in environment.agent_iter():
        observation, reward, terminated, truncated, _ = environment.last()
        rewards[agent] += reward
        assert not truncated
        if terminated:
            environment.step(None)
            continue
        asked.append(agent)
        mask = observation["action_mask"]
        assert mask.sum() == 9 - len(asked) + 1
        assert observation["observation"].dtype == np.int8
        environment.step(int(np.flatnonzero(mask)[0]))
    assert asked == ["x", "o"] * 3 + ["x"]
    assert rewards == {"x": 1.0, "o": 0.0}


def test_illegal_move_is_refused() -> None:
    """And nothing has happened."""
    environment = GameEnvironment(own_machine("tic_tac_toe"))
    environment.reset()
    observation, *_ = environment.last()
    forbidden = int(np.flatnonzero(observation["action_mask"] == 0)[0])
    with pytest.raises(ValueError, match="cannot make the move"):
        environment.step(forbidden)
    assert environment.agent_selection == "x"


def test_simultaneous_moves_stay_hidden() -> None:
    """The second role sees the state before the first one's move."""
    environment = GameEnvironment(own_machine("rock_paper_scissors"))
    environment.reset()
    before = environment.observe("right")["observation"]
    environment.step(int(np.flatnonzero(environment.observe("left")["action_mask"])[0]))
    assert environment.agent_selection == "right"
    assert (environment.observe("right")["observation"] == before).all()


def test_nature_is_played() -> None:
    """The role `random` is no agent; its moves depend on the seed alone."""
    environment = GameEnvironment(machine_of(DICE))
    assert environment.possible_agents == ["player"]

    def match(seed: int) -> tuple[float, ...]:
        environment.reset(seed=seed)
        rewards = []
        for _ in environment.agent_iter():
            _, reward, terminated, _, _ = environment.last()
            rewards.append(reward)
            environment.step(None if terminated else 0)
        return tuple(rewards)

    assert all(match(seed) == match(seed) for seed in range(5))
    assert len({match(seed) for seed in range(20)}) == 2


def test_match_without_end_is_truncated() -> None:
    """After a number of plies, or in a dead end: without reward."""
    environment = GameEnvironment(machine_of(DEAD_END), max_plies=5)
    moves = environment._machine.game.moves[0]
    for move, plies in (("wait", 5), ("go", 1)):
        environment.reset()
        for _ in range(plies):
            assert not environment.truncations["a"]
            environment.step(moves.index(move))
        _, reward, terminated, truncated, _ = environment.last()
        assert (reward, terminated, truncated) == (0.0, False, True)
        environment.step(None)
        assert environment.agents == []


def test_unknown_ways_to_render_are_refused() -> None:
    """`metadata` names those that there are, and only they are accepted."""
    machine = own_machine("tic_tac_toe")
    for mode in (None, *GameEnvironment.metadata["render_modes"]):
        assert GameEnvironment(machine, render_mode=mode).render_mode == mode
    with pytest.raises(ValueError, match="render_mode 'human' is none of 'ansi'"):
        GameEnvironment(machine, render_mode="human")


def test_rewards_keep_the_order_of_goals_beyond_the_usual_range() -> None:
    """120 is more than 100, and a negative goal less than none."""
    sheet = DICE.replace("goal player 100", "goal player 120").replace("goal player 0)", "goal player -20)")
    rewards = set()
    for seed in range(20):
        environment = GameEnvironment(machine_of(sheet))
        environment.reset(seed=seed)
        environment.step(0)
        environment.step(0)
        rewards.add(environment.rewards["player"])
    assert rewards == {1.2, -0.2}
