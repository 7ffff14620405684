"""The helpers of one match on the nodes of a Ray cluster: found, told, listened to, given up.

An actor is requested for each core of each node. Without a free core it waits in Ray's queue; it counts once its
kernels are loaded. Nodes that come later, or come back, are found at the next look.
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
from agent.helpers.messages import Content, Heard, HelperAnswer, HelperReady, Note, Order, Place, pause
from games.kernel_cache import sources_digest

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""Seconds between two looks at the nodes."""

FETCH_SECONDS = 60.0
"""Seconds after which a helper gives up fetching a game or a setting, until the next order."""

MOST_FAILURES = 3
"""Helpers in a row lost before they were ready, after which a node is left alone: it lacks something, such as the
agent. To Ray, one that comes back is another node."""


@dataclass(eq=False)
class _Member:
    """A helper, requested or at work."""

    rank: int
    node: str
    actor: Any
    preparing: Any
    """Reference to its `HelperReady`."""
    ready: bool = False
    listening: Any = None
    """Reference to the result of its `listen`."""
    sent: int = -1
    """Number of its last order."""
    noted: Note | None = None
    """Its last note."""
    name: str = ""
    since: float = field(default_factory=time.monotonic)


class HelperGroup:
    """All helpers of a match, in a process connected by `ray.init`.

    One thread calls `step` over and over; orders and notes may come from another one meanwhile.
    """

    def __init__(
        self, place: Place, most: int, answer: Callable[[HelperAnswer], None], count: Callable[[int], None]
    ) -> None:
        """`most` bounds the number of helpers (0: no bound). `answer` takes their answers, `count` their number at work
        whenever it changes."""
        self._place = place
        self._most = most
        self._answer = answer
        self._count = count
        self._version = sources_digest()
        self._actors = ray.remote(_Actor)
        self._members: list[_Member] = []
        self._refusing: dict[str, str] = {}
        """Reasons of nodes that cannot help."""
        self._failures: Counter[str] = Counter()
        """Failures by node, see `MOST_FAILURES`."""
        self._contents: dict[int, bytes] = {}
        """Contents by number."""
        self._references: dict[int, Any] = {}
        """References to objects in Ray's store, by number of the content; see `_reference`."""
        self._order: Order | None = None
        self._note: Note | None = None
        """The newest note."""
        self._looked = 0.0
        self._lock = threading.Lock()
        """Held while members or contents are used, never during a wait."""

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
        """Passes the newest note on to each helper, with its next `listen`."""
        with self._lock:
            self._note = note

    def step(self, seconds: float) -> None:
        """Looks for helpers, and waits for their answers, for at most `seconds`."""
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
            # `listen`, and `tell` beside it.
            "max_concurrency": 2,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False),
        }
        actor = self._actors.options(**options).remote(rank)
        member = _Member(rank, node, actor, actor.prepare.remote(self._place))
        with self._lock:
            self._members.append(member)

    def _take(self, member: _Member, told: HelperReady | Heard) -> None:
        if isinstance(told, Heard):
            if told.data is not None:
                self._answer(HelperAnswer(member.rank, told.question, told.data))
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
            # In lists, Ray leaves the fetching to the helper, which may have them already.
            member.actor.tell.remote(order, [self._reference(order.game)], [self._reference(order.setting)])

    def _reference(self, number: int) -> Any:
        """A content's object in Ray's store, put there anew after a helper was lost.

        Nodes fetch objects from any node with a copy. For some time after a node was lost Ray tries that node too, and
        waits for 10 s each time.
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
