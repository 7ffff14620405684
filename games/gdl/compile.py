"""Compilation bounded in memory and time: child processes ground and build, the first that succeeds wins.

How large a grounding gets cannot be known before it is tried, and gringo cannot be interrupted inside a join. So each
way to rewrite the rules runs in a process of its own, under limits of the operating system; a second way starts only
when the first one takes long.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

import numpy as np

from games.child_process import Bounds, ChildLostError, ChildProcess, wait_for_any
from games.gdl.circuit.circuit import build_circuit
from games.gdl.circuit.pool import grow
from games.gdl.grounding.ground import VARIANTS, Rewriter, ground, rewrite
from games.gdl.rules.check import CheckedRules, check
from games.gdl.rules.terms import Rule
from games.gdl.running.machine import CircuitMachine, CompiledGame, compiled_game
from games.machine import GameError, LimitError

_GROUNDED = "grounded"
"""What a child sends first, when the grounding is done; then the `CompiledGame`."""

_HUGE = 1e9
"""Estimated ground instances from which on demand has been seen to make the difference (chess, nine men's morris)."""

_LARGE = 1e6
"""Estimated ground instances from which on it is worth estimating what demand would make of them. The least for which
that made a difference is 4e6 (crissrace)."""

_POLL = 0.02
"""Seconds after which it is checked again whether children have used their CPU time; set by hand, not tuned."""

_MOST_ESTIMATED_RULES = 5000
"""Larger rulesheets are mostly facts, and estimating would take longer than trying. Set by hand; not tuned."""


@dataclass(frozen=True)
class Limits:
    """What a compilation may use."""

    cpu_seconds: float = 60.0
    """Per child."""
    grounding_cpu_seconds: float = 10.0
    """For all children together, until one has grounded the rules. What takes longer has nearly always no end; of 172
    sheets the slowest that succeeds needs 2 s, and other machines have taken up to three times as long."""
    wall_seconds: float = 240.0
    """For all of it."""
    memory_bytes: int = 8 << 30
    """Address space per child, beyond what it begins with."""
    patience_seconds: float = 3.0
    """CPU time that one variant gets alone before the next one starts beside it: two of them take twice the time where
    the first one succeeds in the end, as it did on all sheets that were seen but those that look huge. Set by hand."""
    first_look_seconds: float = 0.5
    """The same for the first variant where the rules look huge; it is ended then. Set by hand; not tuned."""
    variants: Sequence[str] | None = None
    """Names of `ground.VARIANTS`, in the order in which they are started; None: as estimates advise."""


@dataclass(frozen=True)
class _Attempt:
    variant: str
    patience: float
    """CPU seconds that it gets before the next attempt starts."""
    gives_way: bool = False
    """Whether it ends then."""
    rewriter: Rewriter | None = None
    """Of the rules, where the parent rewrites them."""


@dataclass
class _Child:
    variant: str
    process: ChildProcess
    grounded: bool = False
    cpu_seconds: float = 0.0
    """As last seen."""

    def used(self) -> float:
        """CPU time that it has used so far; what was seen last, once it is gone."""
        self.cpu_seconds = max(self.cpu_seconds, self.process.cpu_seconds())
        return self.cpu_seconds


class Compilation:
    """Rules on their way to a `CircuitMachine`, in child processes that are started by and by as `poll` is called.

    >>> compilation = start_compilation(checked)      # doctest: +SKIP
    >>> machine = compilation.wait(5.0)               # None: not ready yet, or `compilation.failed`
    """

    def __init__(self, checked: CheckedRules, limits: Limits) -> None:
        self._checked = checked
        self._limits = limits
        self._waiting = _plan(checked, limits)
        self._latest = self._waiting[0]
        self._children: list[_Child] = []
        self._reasons: list[str] = []
        self._machine: CircuitMachine | None = None
        self._begin = time.monotonic()
        self._ended_cpu_seconds = 0.0
        """CPU time of the children that have ended."""
        self.variant: str | None = None
        """The variant that won."""
        self._start_next()

    @property
    def failed(self) -> str | None:
        """Why there will be no machine; None while there may be."""
        if self._machine is not None or self._children or self._waiting:
            return None
        return "; ".join(self._reasons)

    def poll(self) -> CircuitMachine | None:
        """The machine as soon as some child has delivered it. Never blocks for longer than reading its answer takes."""
        return self.wait(0.0)

    def wait(self, timeout: float) -> CircuitMachine | None:
        """Like `poll`, but waits up to `timeout` seconds for it."""
        deadline = time.monotonic() + timeout
        while self._machine is None and (self._children or self._waiting):
            now = time.monotonic()
            if now - self._begin > self._limits.wall_seconds:
                self.cancel(f"no circuit within {self._limits.wall_seconds:g} s")
                break
            # Children on a busy machine are not to blame for what they have not been given: CPU time counts.
            used = [child.used() for child in self._children]
            budget = self._limits.grounding_cpu_seconds - self._ended_cpu_seconds - sum(used)
            grounded = any(child.grounded for child in self._children)
            if budget <= 0 and not grounded:
                self.cancel(f"not grounded within {self._limits.grounding_cpu_seconds:g} s of CPU time")
                break
            patience = self._latest.patience - (used[-1] if used else 0.0)
            if self._waiting and (patience <= 0 or not self._children):
                if self._latest.gives_way:
                    for child in list(self._children):
                        self._end(child)
                self._start_next()
                continue
            left = deadline - now
            # CPU time does not pass faster than time does, for each of the children.
            until = left if grounded else min(left, budget / len(self._children) + _POLL)
            if self._waiting:
                until = min(until, patience + _POLL)
            ready = wait_for_any([child.process for child in self._children], max(0.0, until))
            for child in [child for child in self._children if child.process in ready]:
                # An answer may end other children, also such as have answered at the same moment.
                if child in self._children:
                    self._collect(child)
            if not ready and left <= 0:
                break
        return self._machine

    def cancel(self, reason: str = "cancelled") -> None:
        """Ends all children. A machine that is there already stays."""
        self._waiting.clear()
        for child in list(self._children):
            self._end(child)
        self._reasons.append(reason)

    def _end(self, child: _Child) -> None:
        self._children.remove(child)
        self._ended_cpu_seconds += child.used()
        child.process.end()

    def _start_next(self) -> None:
        self._latest = self._waiting.pop(0)
        variant, rewriter = self._latest.variant, self._latest.rewriter
        rewritten = None if rewriter is None else rewriter.rules(variant)
        bounds = Bounds(self._limits.cpu_seconds, self._limits.memory_bytes)
        process = ChildProcess(_compile, self._checked, variant, rewritten, bounds=bounds)
        self._children.append(_Child(variant, process))

    def _collect(self, child: _Child) -> None:
        try:
            outcome = child.process.receive()
        except (GameError, ChildLostError) as error:
            self._fail(child, str(error))
        except Exception as error:
            self._fail(child, f"{type(error).__name__}: {error}")
        else:
            if isinstance(outcome, CompiledGame):
                self._machine = CircuitMachine(outcome)
                self.variant = child.variant
                self.cancel()
                return
            assert outcome == _GROUNDED
            # What is left is bounded by what is grounded: the others need not go on.
            child.grounded = True
            self._waiting.clear()
            for other in [other for other in self._children if not other.grounded]:
                self._end(other)

    def _fail(self, child: _Child, reason: str) -> None:
        self._end(child)
        self._reasons.append(f"{child.variant}: {reason}")


def _plan(checked: CheckedRules, limits: Limits) -> list[_Attempt]:
    """What to try, in order: as the limits say, or as estimates advise."""
    patience = limits.patience_seconds
    if limits.variants is not None:
        return [_Attempt(variant, patience) for variant in limits.variants]
    if len(checked.rules) > _MOST_ESTIMATED_RULES:
        return [_Attempt(variant, patience) for variant in VARIANTS[:2]]
    rewriter = Rewriter(checked.rules)
    instances = rewriter.instances("split")
    split = _Attempt("split", patience, rewriter=rewriter)
    on_demand = _Attempt("demand+split", patience, rewriter=rewriter)
    if instances > _HUGE:
        plan = [replace(on_demand, patience=limits.grounding_cpu_seconds * 2 / 3, gives_way=True), split]
        if rewriter.instances_without_moves("split") <= _HUGE:
            # The estimate may well be wrong, so a short look; if it is right, what can succeed gets the machine.
            plan.insert(0, replace(split, patience=limits.first_look_seconds, gives_way=True))
        return plan
    plan = [split, on_demand]
    # Below, estimating would take as long as what it might save.
    if instances > _LARGE and 2 * rewriter.instances("demand+split") < instances:
        plan.reverse()
    if rewriter.instances("plain") < 10 * instances:
        plan.append(_Attempt("plain", patience, rewriter=rewriter))
    return plan


def _compile(pipe: Connection, checked: CheckedRules, variant: str, rewritten: Sequence[Rule] | None) -> CompiledGame:
    """What a child does."""
    # It makes millions of tuples and ends soon: looking for cycles among them and what the parent had would find none.
    gc.disable()
    if rewritten is None:
        rewritten = rewrite(checked.rules, variant)
    program = ground(rewritten, checked.roles, variant="plain")
    pipe.send(_GROUNDED)
    return compiled_game(build_circuit(program))


def start_compilation(checked: CheckedRules, limits: Limits = Limits()) -> Compilation:
    """Starts compiling; the first child is forked before this returns. Call `warm_kernels` first, once per process."""
    return Compilation(checked, limits)


def compile_rules(checked: CheckedRules, limits: Limits = Limits()) -> CircuitMachine:
    """The machine of these rules. Raises `LimitError` if they do not compile within the limits."""
    warm_kernels()
    compilation = start_compilation(checked, limits)
    try:
        machine = compilation.wait(limits.wall_seconds + 1.0)
    except BaseException:
        compilation.cancel()
        raise
    if machine is None:
        raise LimitError(f"the rules do not compile: {compilation.failed}")
    return machine


_WARM_UP_RULES = (
    ("role", "a"),
    ("role", "b"),
    ("init", ("at", "0")),
    ("init", "quiet"),
    ("step", "0", "1"),
    ("step", "1", "2"),
    ("step", "2", "0"),
    ("<=", ("linked", "?x", "?y"), ("step", "?x", "?y"), ("true", ("at", "?x"))),
    ("<=", ("linked", "?x", "?z"), ("linked", "?x", "?y"), ("linked", "?y", "?z")),
    ("<=", ("legal", "?r", ("go", "?x")), ("role", "?r"), ("step", "?x", "?y")),
    ("<=", ("legal", "?r", "stay"), ("role", "?r"), ("not", ("linked", "1", "2"))),
    ("<=", ("next", ("at", "?y")), ("does", "a", ("go", "?x")), ("step", "?x", "?y")),
    ("<=", ("next", ("at", "?x")), ("does", "b", ("go", "?x")), ("true", ("at", "?x"))),
    ("<=", ("next", "quiet"), ("true", "quiet"), ("does", "a", "stay")),
    ("<=", "terminal", ("not", ("true", "quiet")), ("true", ("at", "2"))),
    ("<=", ("goal", "?r", "100"), ("role", "?r"), ("true", ("at", "2"))),
    ("<=", ("goal", "?r", "0"), ("role", "?r"), ("not", ("true", ("at", "2")))),
)
"""A nonsense game that has everything the kernels tell apart: cycles, move sets, fluents that come and go."""

_warm_machine: CircuitMachine | None = None


def warm_kernels() -> CircuitMachine:
    """Makes this process compile, or load from the cache, every kernel between ground rules and the moves of
    a match; once.

    Not those of `CircuitMachine.random_playouts`, which no match needs.

    Returns the small machine that was built for it, so that what stands on machines can warm its own kernels.
    """
    global _warm_machine
    if _warm_machine is not None:
        return _warm_machine
    checked = check(_WARM_UP_RULES)
    for variant in VARIANTS[:2]:
        circuit = build_circuit(ground(checked.rules, checked.roles, variant=variant))
        game = compiled_game(circuit)
    grow(circuit.pool)
    machine = CircuitMachine(game)
    positions = machine.random_matches(2, 1, max_plies=4)
    machine.legal_of(positions.states)
    machine.next_of(positions.states, np.zeros((len(positions.states), 2), np.int32))
    state = machine.initial()
    machine.next(state, [machine.legal(state, role)[0] for role in range(2)])
    machine.goal(state, 0)
    _warm_machine = machine
    return machine
