"""A compiled game as a PettingZoo environment (AEC), for reinforcement learning. Needs the extra `pettingzoo`.

Reference: Terry et al.: PettingZoo: Gym for Multi-Agent Reinforcement Learning, 2021.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import gymnasium
import numpy as np
from numpy.typing import NDArray
from pettingzoo import AECEnv

from games.gdl.rules.terms import term_text
from games.gdl.running.batches import facts_in
from games.gdl.running.machine import CircuitMachine
from games.machine import State, points
from games.roles import is_random_role

Observation: TypeAlias = dict[str, NDArray[np.int8]]


class GameEnvironment(AECEnv):  # type: ignore[misc]
    """A game whose agents are its roles, by name; the environment plays nature (a role named `random`).

    An observation is a dict: `observation`, int8[facts], marks the true facts of `machine.game.fluents`;
    `action_mask`, int8[moves of the role], marks the legal moves. An action is an index into
    `machine.game.moves[role]`. Agents act in the order of the roles and see the state before the ply, so simultaneous
    moves stay hidden. A role with one legal move makes it unasked. Rewards come at the end: goals / 100, so 0..1
    in ordinary games. A match is truncated without rewards after `max_plies`, or where a role has no legal move.

    All agents see the whole state: for games of perfect information.
    """

    metadata = {"render_modes": ["ansi"], "name": "gdl_v0", "is_parallelizable": False}  # noqa: RUF012 - as PettingZoo's

    def __init__(self, machine: CircuitMachine, *, max_plies: int = 1000, render_mode: str | None = None) -> None:
        """The machine is not changed; environments may share one. Raises `ValueError` for an unknown mode."""
        super().__init__()
        modes: list[str] = self.metadata["render_modes"]  # type: ignore[assignment]
        if render_mode is not None and render_mode not in modes:
            raise ValueError(f"render_mode {render_mode!r} is none of {', '.join(map(repr, modes))}, nor None")
        self.render_mode = render_mode
        self._machine = machine
        self._max_plies = max_plies
        self._names = [term_text(role) for role in machine.roles]
        self._nature = [is_random_role(role) for role in machine.roles]
        self.possible_agents = [name for name, nature in zip(self._names, self._nature, strict=True) if not nature]
        facts = len(machine.game.fluents)
        self.action_spaces = {name: gymnasium.spaces.Discrete(len(self._moves(name))) for name in self.possible_agents}
        self.observation_spaces = {
            name: gymnasium.spaces.Dict(
                {
                    "observation": gymnasium.spaces.Box(0, 1, (facts,), np.int8),
                    "action_mask": gymnasium.spaces.Box(0, 1, (len(self._moves(name)),), np.int8),
                }
            )
            for name in self.possible_agents
        }
        self._random = np.random.default_rng()
        self._state: State = machine.initial()
        self._legal: list[list[int]] = []
        self._chosen: dict[int, int] = {}
        self._plies = 0

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """The observation space of one role; the same object every time."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """The action space of one role; the same object every time."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins a match. `seed` is for nature's moves."""
        if seed is not None:
            self._random = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._state = self._machine.initial()
        self._plies = 0
        self.agent_selection = self.agents[0]
        self._begin_ply()

    def observe(self, agent: str) -> Observation:
        """The observation of a role: all facts, and its own legal moves."""
        mask = np.zeros(len(self._moves(agent)), np.int8)
        if not self._over:
            mask[self._legal[self._names.index(agent)]] = 1
        return {"observation": self.state(), "action_mask": mask}

    def state(self) -> NDArray[np.int8]:
        """int8[facts]: marks the true facts of `machine.game.fluents`."""
        return facts_in(self._machine.pack(self._state), len(self._machine.game.fluents)).astype(np.int8)

    def step(self, action: int | None) -> None:
        """Makes the move of `agent_selection`. Raises `ValueError` for an illegal one."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        role = self._names.index(agent)
        if action is None or int(action) not in self._legal[role]:
            raise ValueError(f"{agent} cannot make the move {action}: see action_mask")
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._chosen[role] = int(action)
        self._go_on()
        self._accumulate_rewards()

    def render(self) -> str | None:
        """The facts of the state, one per line, in mode `ansi`."""
        if self.render_mode != "ansi":
            return None
        return "\n".join(sorted(map(term_text, self._machine.facts(self._state))))

    def close(self) -> None:
        """Nothing to free."""

    # -- one ply after the other ---------------------------------------------------------------------------------------

    @property
    def _over(self) -> bool:
        return any(self.terminations.values()) or any(self.truncations.values())

    def _moves(self, agent: str) -> list[Any]:
        return self._machine.game.moves[self._names.index(agent)]

    def _begin_ply(self) -> None:
        """Plays on to the first role that has a choice, in this ply or a later one."""
        machine = self._machine
        while True:
            if machine.terminal(self._state):
                self._end()
                return
            self._legal = [
                [machine.move_index(role, move) for move in machine.legal(self._state, role)]
                for role in range(len(machine.roles))
            ]
            if not all(self._legal) or self._plies == self._max_plies:
                self.truncations = dict.fromkeys(self.agents, True)
                return
            self._chosen = {}
            for role, legal in enumerate(self._legal):
                if self._nature[role]:
                    self._chosen[role] = int(self._random.choice(legal))
                elif len(legal) == 1:
                    self._chosen[role] = legal[0]
            if len(self._chosen) < len(self._names):
                self._select()
                return
            self._play()

    def _go_on(self) -> None:
        if len(self._chosen) < len(self._names):
            self._select()
        else:
            self._play()
            self._begin_ply()

    def _select(self) -> None:
        role = next(role for role in range(len(self._names)) if role not in self._chosen)
        self.agent_selection = self._names[role]

    def _play(self) -> None:
        joint = [self._machine.game.moves[role][self._chosen[role]] for role in range(len(self._names))]
        self._state = self._machine.next(self._state, joint)
        self._plies += 1

    def _end(self) -> None:
        for agent in self.agents:
            goal = self._machine.goal(self._state, self._names.index(agent))
            self.rewards[agent] = points(goal) / 100.0
        self.terminations = dict.fromkeys(self.agents, True)
