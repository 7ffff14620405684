"""Helpers for tests, in this process: what they answer is up to the test, or what an assistant really finds."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from agent.search.team import Assistant, Hear, Setting, Team
from games.gdl.running.machine import CircuitMachine
from games.machine import State


class CannedTeam(Team):
    """Answers as the test says, and notes what it is asked."""

    def __init__(self, answers: Sequence[object] = ()) -> None:
        self.given = list(answers)
        self.asked: list[State] = []
        self.resting = True
        self.setting: Setting | None = None
        """What it was asked last."""
        self.hear: Hear | None = None

    def play(self, machine: CircuitMachine, role: int) -> None:
        pass

    def ask(self, setting: Setting, state: State, hear: Hear) -> None:
        self.asked.append(state)
        self.setting = setting
        self.resting = False
        self.hear = hear

    def rest(self, setting: Setting) -> None:
        self.resting = setting is self.setting

    @property
    def size(self) -> int:
        return len(self.given)


class AssistedTeam(CannedTeam):
    """One assistant, whose search runs in a thread as long as the team does not rest."""

    def __init__(self, machine: CircuitMachine, role: int) -> None:
        super().__init__()
        self._game = machine, role
        self._made: tuple[Setting | None, Assistant | None] = (None, None)
        self._threads: list[threading.Thread] = []
        self._stop = np.zeros(1, np.uint8)
        self.heard = 0
        """Answers that the engine has heard."""

    def ask(self, setting: Setting, state: State, hear: Hear) -> None:
        super().ask(setting, state, hear)
        made, assistant = self._made
        if made is not setting or assistant is None:
            assistant = setting.assistant(*self._game, 0)
            self._made = (setting, assistant)
        assistant.begin(state)
        self._stop[0] = 0
        self._threads = [
            threading.Thread(target=assistant.think, args=(self._stop,)),
            threading.Thread(target=self._tell, args=(assistant, hear)),
        ]
        for thread in self._threads:
            thread.start()

    def _tell(self, assistant: Assistant, hear: Hear) -> None:
        while not self._stop[0]:
            answer = assistant.answer()
            if answer is not None:
                self.given = [answer]
                note = hear(answer)
                self.heard += 1
                if note is not None:
                    assistant.take(note)
            threading.Event().wait(0.002)

    def rest(self, setting: Setting) -> None:
        super().rest(setting)
        if not self.resting:
            return
        self._stop[0] = 1
        for thread in self._threads:
            thread.join()
        self._threads = []
