"""The helpers of one match as its broker sees them: found on the nodes of a Ray cluster, told, listened to, given up.

An actor is asked for on each core that a node says it has. One for which no core is free waits in Ray's queue, and is
counted in when its kernels are loaded. A node that comes later, or comes back, is found at the next look.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from agent.errors import first_line
from agent.helpers.helper import Helper
from agent.helpers.messages import Answer, Content, Heard, Note, Order, Place, Ready, pause
from games.kernel_cache import sources_digest

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""Between two looks at which nodes there are. Set by hand; not tuned."""

FETCH_SECONDS = 60.0
"""After which a helper gives up fetching a game or a setting, until the next order. Set by hand; not tuned."""

MOST_FAILURES = 3
"""Helpers in a row that were lost before they were ready, after which a node is left alone: what it lacks, such as the
agent itself, it will lack the next time. One that comes back is another node to Ray. Set by hand; not tuned."""


@dataclass(eq=False)
class _Member:
    """A helper, from when it was asked for."""

    rank: int
    node: str
    actor: Any
    preparing: Any
    """The reference to its `Ready`."""
    ready: bool = False
    listening: Any = None
    """The reference to what it is to tell next."""
    sent: int = -1
    """The number of the last order that it got."""
    noted: Note | None = None
    """The last note that it got."""
    name: str = ""
    since: float = field(default_factory=time.monotonic)


class HelperGroup:
    """All helpers of a match, in a process that `ray.init` has connected.

    One thread calls `step` over and over; what is to be passed on may come from another one meanwhile.
    """

    def __init__(self, place: Place, most: int, answer: Callable[[Answer], None], count: Callable[[int], None]) -> None:
        """`place` is where the worker runs, `most` the number of helpers at most, 0 for any. `answer` gets what they
        tell, `count` how many are at work whenever that has changed."""
        self._place = place
        self._most = most
        self._answer = answer
        self._count = count
        self._version = sources_digest()
        self._actors = ray.remote(_Actor)
        self._members: list[_Member] = []
        self._refusing: dict[str, str] = {}
        """Nodes that cannot help, and why."""
        self._failures: Counter[str] = Counter()
        """By node, see `MOST_FAILURES`."""
        self._contents: dict[int, bytes] = {}
        """By number."""
        self._references: dict[int, Any] = {}
        """To objects in Ray's store, by the number of the content; see `_reference`."""
        self._order: Order | None = None
        self._note: Note | None = None
        """The last one."""
        self._looked = 0.0
        self._lock = threading.Lock()
        """Held while members or contents are used; never while they are waited for."""

    def keep(self, content: Content) -> None:
        """Keeps a game or a setting for all helpers."""
        with self._lock:
            self._contents[content.number] = content.data

    def tell(self, order: Order) -> None:
        """Gives all helpers an order."""
        with self._lock:
            self._order = order
            for member in self._members:
                if member.ready:
                    self._give_order(member)
            for number in self._contents.keys() - {order.game, order.setting}:
                del self._contents[number]
                self._references.pop(number, None)

    def note(self, note: Note) -> None:
        """Passes a note on, to each helper when it is listened to the next time; of several, the last one."""
        with self._lock:
            self._note = note

    def step(self, seconds: float) -> None:
        """Looks for helpers, and waits for what they tell, for so many seconds at most."""
        if time.monotonic() - self._looked >= LOOK_SECONDS:
            self._look()
        # Nobody else adds or removes members.
        waiting = {member.listening if member.ready else member.preparing: member for member in self._members}
        if not waiting:
            time.sleep(seconds)
            return
        done, _ = ray.wait(list(waiting), num_returns=1, timeout=seconds)
        if done and len(waiting) > 1:
            done, _ = ray.wait(list(waiting), num_returns=len(waiting), timeout=0)
        for reference in done:
            member = waiting[reference]
            try:
                told = ray.get(reference)
                with self._lock:
                    self._take(member, told)
            except Exception as error:
                self._lose(member, error)

    # --- members

    @property
    def _at_work(self) -> int:
        return sum(member.ready for member in self._members)

    def _look(self) -> None:
        """Asks for a helper on each core that has none."""
        self._looked = time.monotonic()
        nodes = {
            node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node.get("Alive", False)
        }
        for gone in self._refusing.keys() - nodes.keys():
            del self._refusing[gone]
        taken = Counter(member.node for member in self._members)
        for node, cores in nodes.items():
            for _ in range(cores - taken[node] if node not in self._refusing else 0):
                if self._most and len(self._members) >= self._most:
                    return
                self._hire(node)

    def _hire(self, node: str) -> None:
        ranks = {member.rank for member in self._members}
        rank = next(rank for rank in range(len(ranks) + 1) if rank not in ranks)
        options = {
            "num_cpus": 1,
            # One that listens, and orders.
            "max_concurrency": 2,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False),
        }
        actor = self._actors.options(**options).remote(rank)
        member = _Member(rank, node, actor, actor.prepare.remote(self._place))
        with self._lock:
            self._members.append(member)

    def _take(self, member: _Member, told: Ready | Heard) -> None:
        if isinstance(told, Heard):
            if told.data is not None:
                self._answer(Answer(member.rank, told.question, told.data))
        else:
            refusal = told.refusal
            if told.version != self._version:
                refusal = "its version of the agent is another one"
            if refusal:
                log.warning("no helper at %s: %s", told.name, refusal)
                self._refusing[member.node] = refusal
                self._dismiss(member)
                return
            member.ready, member.name = True, told.name
            del self._failures[member.node]
            seconds = time.monotonic() - member.since
            self._count(self._at_work)
            log.info("helper %d (%s) is at work after %.1f s", member.rank, member.name, seconds)
            self._give_order(member)
        note = self._note if self._note is not member.noted else None
        member.noted = self._note
        member.listening = member.actor.listen.remote(pause(self._at_work), note)

    def _give_order(self, member: _Member) -> None:
        order = self._order
        if order is not None and member.sent != order.number:
            member.sent = order.number
            # In lists, so that a helper fetches only what it does not have yet.
            member.actor.tell.remote(order, [self._reference(order.game)], [self._reference(order.setting)])

    def _reference(self, number: int) -> Any:
        """A content's object in Ray's store, which is put there anew after a helper was lost.

        Nodes fetch objects from any node that has a copy. For some time after a node was lost Ray looks for a copy
        there, too, and every time waits for 10 s before it tries another node.
        """
        if number not in self._references:
            self._references[number] = ray.put(self._contents[number])
        return self._references[number]

    def _lose(self, member: _Member, error: Exception) -> None:
        log.warning("helper %d (%s) is lost: %s", member.rank, member.name or "not ready yet", first_line(error))
        if not member.ready:
            self._failures[member.node] += 1
            if self._failures[member.node] >= MOST_FAILURES:
                log.warning("no further helpers of node %s", member.node)
                self._refusing[member.node] = "helpers fail there"
        with self._lock:
            self._references.clear()
            self._dismiss(member)

    def _dismiss(self, member: _Member) -> None:
        self._members.remove(member)
        ray.kill(member.actor)
        if member.ready:
            self._count(self._at_work)


class _Actor(Helper):
    """A helper as an actor."""

    def __init__(self, rank: int) -> None:
        from agent.logs import start_logging

        start_logging()
        super().__init__(rank, lambda content: ray.get(content[0], timeout=FETCH_SECONDS))
