"""Recognition: two players by turns take one to three of the things on a heap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from games.machine import State, StateMachine
from games.native.recognition import NotRecognised, Recognition

MOST_STATES = 100


@dataclass(frozen=True)
class Heap:
    """The states of a game, each with the things that are left."""

    left: dict[State, int]

    @property
    def variant(self) -> str:
        return f"a heap of {max(self.left.values())}"


@lru_cache(maxsize=4)
def propose(machine: StateMachine) -> Heap:
    """The binding. Raises `NotRecognised`."""
    left: dict[State, int] = {}

    def count(state: State) -> int:
        if state not in left:
            if len(left) >= MOST_STATES or len(machine.roles) != 2:
                raise NotRecognised("too many states for a heap")
            left[state] = 0
            if not machine.terminal(state):
                moves = [machine.legal(state, role) for role in range(2)]
                after = {count(machine.next(state, (one, other))) for one in moves[0] for other in moves[1]}
                left[state] = 1 + max(after)
                if after != set(range(left[state] - 1, max(left[state] - 4, -1), -1)):
                    raise NotRecognised("not one to three things are taken")
        return left[state]

    count(machine.initial())
    return Heap(left)


RECOGNITION = Recognition("Heaps", propose, lambda machine, _: propose(machine), lambda *_: lambda *_: True)
"""The proposal has looked at every state: there is nothing left to follow."""
recognise = RECOGNITION.recognise
