"""Compilation bounded in memory and time: child processes ground and build, the first to succeed wins.

The size of a grounding cannot be known in advance, and gringo cannot be interrupted inside a join. So each way to
rewrite the rules runs in a process of its own, under limits of the operating system. A second way starts only when the
first takes long, or fails.
"""

from __future__ import annotations

import gc
import logging
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from typing import TypeAlias

import numpy as np

from games.child_process import Bounds, ChildLostError, ChildProcess, wait_for_any
from games.gdl.circuit.circuit import build_circuit
from games.gdl.circuit.pool import grow
from games.gdl.grounding.freeing import freed
from games.gdl.grounding.ground import VARIANTS, Rewriter, ground, rewrite
from games.gdl.lean.game import lean_game
from games.gdl.rules.check import CheckedRules, check
from games.gdl.rules.terms import Rule
from games.gdl.running.machine import CircuitMachine, CompiledGame, compiled_game
from games.machine import GameError, LimitError
from games.memory import memory_part

log = logging.getLogger(__name__)

_GROUNDED = "grounded"
"""First message of a child, when the grounding is done; the `CompiledGame` follows."""

_BUG = "an error of this program"
"""Told of a failure that is no limit."""

_HUGE = 1e9
"""Estimated ground instances beyond which demand has made the difference (chess, nine men's morris)."""

_LARGE = 1e6
"""Estimated ground instances beyond which demand is estimated, too. The least for which it made a difference is 4e6
(crissrace)."""

_POLL = 0.02
"""Seconds between looks at the children's CPU time."""

_FREED_GROWTH, _LEAST_FREED = 8, 100_000
"""Ground literals of a freed game: at most so many times those of the game, and these."""

_LATE = 20.0
"""CPU seconds of a child after which it makes no lean game, far from its limit."""

_LEAST_MEMORY = 768 << 20
"""Bytes of a child where several run at the same time; with less, one way is given up for the next. Of 172 sheets none
that grounds needs more."""

_MOST_ESTIMATED_RULES = 5000
"""Most rules for estimates: larger rulesheets are mostly facts, and estimating would take longer than trying."""


@dataclass(frozen=True)
class Limits:
    """Resources of a compilation."""

    cpu_seconds: float = 60.0
    """Per child."""
    grounding_cpu_seconds: float = 10.0
    """For all children together, until one has grounded the rules. Of 172 sheets the slowest needs 2 s, up to three
    times as long on other machines; nearly all that take longer never end."""
    wall_seconds: float = 240.0
    """For the whole compilation."""
    memory_bytes: int = field(default_factory=lambda: memory_part(8 << 30, 3 / 4))
    """For all children together, beyond what they share with their parent."""
    patience_seconds: float = 3.0
    """CPU time of one variant alone before the next starts beside it: two take twice the time if the first succeeds,
    as on all sheets seen except those that look huge."""
    first_look_seconds: float = 0.5
    """The same for the first variant if the rules look huge; it is ended then."""
    variants: Sequence[str] | None = None
    """Names of `ground.VARIANTS`, in order; None: chosen by estimates."""


@dataclass(frozen=True)
class _Attempt:
    variant: str
    patience: float
    """CPU seconds before the next attempt starts."""
    gives_way: bool = False
    """Whether it ends then."""
    rewriter: Rewriter | None = None
    """Rewriter of the rules, if the parent rewrites them."""


@dataclass(frozen=True)
class _Fault:
    """Message of a child: it goes on without a part of the game, because of an error of this program."""

    part: str
    traceback: str


@dataclass
class _Child:
    variant: str
    process: ChildProcess
    grounded: bool = False
    cpu_seconds: float = 0.0
    """At the last look."""

    def used(self) -> float:
        """CPU time used so far, also after its end."""
        self.cpu_seconds = max(self.cpu_seconds, self.process.cpu_seconds())
        return self.cpu_seconds


Question: TypeAlias = Callable[[CircuitMachine], bool]
"""Whether a machine is also wanted freed of its first position (`CompiledGame.freed`); asked in the child."""


class Compilation:
    """Compilation of rules to a `CircuitMachine`, in child processes; calls of `poll` and `wait` drive it.

    >>> compilation = start_compilation(checked)      # doctest: +SKIP
    >>> machine = compilation.wait(5.0)               # None: not ready yet, or `compilation.failed`
    """

    def __init__(self, checked: CheckedRules, limits: Limits, freeing: Question | None = None) -> None:
        self._checked = checked
        self._freeing = freeing
        self._limits = limits
        self.faults: list[str] = []
        """Errors of this program met so far: bugs, and no limits. There may be a machine nevertheless."""
        try:
            self._waiting = _plan(checked, limits)
        except Exception as error:
            self._blame("estimates", error)
            self._waiting = [_Attempt(variant, limits.patience_seconds) for variant in VARIANTS]
        self._together = max(1, min(len(self._waiting), limits.memory_bytes // _LEAST_MEMORY))
        """Most children at the same time, which share the memory."""
        if self._together == 1:
            # The next takes the place of the last, which gets its half of the time.
            half = limits.grounding_cpu_seconds / 2
            self._waiting = [
                one if one.gives_way else replace(one, patience=max(one.patience, half)) for one in self._waiting
            ]
        self._latest = self._waiting[0]
        self._children: list[_Child] = []
        self._failed: set[str] = set()
        """Variants that will not be tried again."""
        self._reasons: list[str] = []
        self._machine: CircuitMachine | None = None
        self._begin = time.monotonic()
        self._ended_cpu_seconds = 0.0
        """CPU time of children that ended before they had grounded the rules."""
        self.variant: str | None = None
        """The winning variant."""
        self._start_next()

    @property
    def failed(self) -> str | None:
        """The reason why there will be no machine; None while there may be one."""
        if self._machine is not None or self._children or self._waiting:
            return None
        return "; ".join(self._reasons)

    @property
    def machine(self) -> CircuitMachine | None:
        """The machine, if `poll` or `wait` has returned it."""
        return self._machine

    def poll(self) -> CircuitMachine | None:
        """The machine once a child has delivered it. Blocks no longer than it takes to read the answer."""
        return self.wait(0.0)

    def wait(self, timeout: float) -> CircuitMachine | None:
        """Like `poll`, but waits up to `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while self._machine is None and (self._children or self._waiting):
            now = time.monotonic()
            if now - self._begin > self._limits.wall_seconds:
                self.cancel(f"no circuit within {self._limits.wall_seconds:g} s")
                break
            # Children on a busy machine get less time than passes, so their CPU time counts.
            used = [child.used() for child in self._children]
            budget = self._limits.grounding_cpu_seconds - self._ended_cpu_seconds - sum(used)
            grounded = any(child.grounded for child in self._children)
            if budget <= 0 and not grounded:
                self.cancel(f"not grounded within {self._limits.grounding_cpu_seconds:g} s of CPU time")
                break
            patience = self._latest.patience - (used[-1] if used else 0.0)
            if self._waiting and (patience <= 0 or not self._children):
                room = 1 if self._latest.gives_way else self._together
                for child in self._children[: max(0, len(self._children) + 1 - room)]:
                    self._end(child)
                self._start_next()
                continue
            left = deadline - now
            # A child uses no more CPU time than time passes.
            until = left if grounded else min(left, budget / len(self._children) + _POLL)
            if self._waiting:
                until = min(until, patience + _POLL)
            ready = wait_for_any([child.process for child in self._children], max(0.0, until))
            for child in [child for child in self._children if child.process in ready]:
                # An answer may end other children, even those that answered at the same moment.
                if child in self._children:
                    self._collect(child)
            if not ready and left <= 0:
                break
        return self._machine

    def cancel(self, reason: str = "cancelled") -> None:
        """Ends all children. A machine that exists stays."""
        self._waiting.clear()
        for child in list(self._children):
            self._end(child)
        self._reasons.append(reason)

    def _end(self, child: _Child) -> None:
        self._children.remove(child)
        if not child.grounded:
            self._ended_cpu_seconds += child.used()
        child.process.end()

    def _start_next(self) -> None:
        self._latest = self._waiting.pop(0)
        variant, rewriter = self._latest.variant, self._latest.rewriter
        try:
            rewritten = None if rewriter is None else rewriter.rules(variant)
        except Exception:
            # The child fails at it as well, and tells.
            rewritten = None
        bounds = Bounds(self._limits.cpu_seconds, self._limits.memory_bytes // self._together)
        process = ChildProcess(_compile, self._checked, variant, rewritten, self._freeing, bounds=bounds)
        self._children.append(_Child(variant, process))

    def _collect(self, child: _Child) -> None:
        try:
            outcome = child.process.receive()
        except LimitError as error:
            self._fail(child, f"{child.variant}: {error}")
        except ChildLostError as error:
            # Killed, perhaps for want of memory.
            self._fail(child, f"{child.variant}: {error}")
            self._try_others()
        except Exception as error:
            self._fail(child, self._blame(child.variant, error))
            self._try_others()
        else:
            if isinstance(outcome, CompiledGame):
                self._machine = CircuitMachine(outcome)
                self.variant = child.variant
                self.cancel()
            elif isinstance(outcome, _Fault):
                what = f"{child.variant}, without {outcome.part}: {_BUG}"
                log.error("%s\n%s", what, outcome.traceback)
                self.faults.append(f"{what}: {outcome.traceback.splitlines()[-1]}")
            else:
                assert outcome == _GROUNDED
                # The grounding bounds the rest of the work, so the others can go.
                child.grounded = True
                self._waiting.clear()
                for other in [other for other in self._children if not other.grounded]:
                    self._end(other)

    def _fail(self, child: _Child, reason: str) -> None:
        self._end(child)
        self._failed.add(child.variant)
        self._reasons.append(reason)

    def _blame(self, what: str, error: Exception) -> str:
        """Notes an error of this program; returns its text."""
        fault = f"{what}: {_BUG}: {type(error).__name__}: {error}"
        log.error("%s", fault, exc_info=error)
        self.faults.append(fault)
        return fault

    def _try_others(self) -> None:
        """After a crash: puts all other variants on the list, also those that had given way."""
        known = self._failed.union(one.variant for one in self._waiting)
        known.update(child.variant for child in self._children)
        others = [variant for variant in self._limits.variants or VARIANTS if variant not in known]
        self._waiting += [_Attempt(variant, self._limits.patience_seconds) for variant in others]


def _plan(checked: CheckedRules, limits: Limits) -> list[_Attempt]:
    """The attempts in order: given by the limits, or chosen by estimates."""
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
            # The estimate may be wrong, so a short look first; the likelier variant then gets the whole machine.
            plan.insert(0, replace(split, patience=limits.first_look_seconds, gives_way=True))
        return plan
    plan = [split, on_demand]
    # For smaller ones estimating would take as long as it might save.
    if instances > _LARGE and 2 * rewriter.instances("demand+split") < instances:
        plan.reverse()
    if rewriter.instances("plain") < 10 * instances:
        plan.append(_Attempt("plain", patience, rewriter=rewriter))
    return plan


def _compile(
    pipe: Connection,
    checked: CheckedRules,
    variant: str,
    rewritten: Sequence[Rule] | None,
    freeing: Question | None,
) -> CompiledGame:
    """The work of a child."""
    times = [time.perf_counter()]
    # The collector would search millions of tuples, and the parent's objects, for cycles that are not there.
    gc.disable()
    if rewritten is None:
        rewritten = rewrite(checked.rules, variant)
    program = ground(rewritten, checked.roles, variant="plain")
    pipe.send(_GROUNDED)
    times.append(time.perf_counter())
    circuit = build_circuit(program)
    times.append(time.perf_counter())
    game = compiled_game(circuit)
    times.append(time.perf_counter())
    stages = zip(("grounding", "circuit", "layout"), np.diff(times).round(4).tolist(), strict=True)
    game = replace(game, stage_seconds=dict(stages))
    if time.process_time() <= _LATE:
        game = replace(game, lean=_part(pipe, "the lean game", lambda: lean_game(circuit, game)))

    def free() -> CompiledGame | None:
        wanted = freeing is not None and freeing(CircuitMachine(game))
        return _free(game, checked, variant, len(program.body)) if wanted else None

    return replace(game, freed=_part(pipe, "the game freed of its first position", free))


def _part(pipe: Connection, name: str, make: Callable[[], CompiledGame | None]) -> CompiledGame | None:
    """A part that is worth less than the game, which does without it where making it fails."""
    try:
        return make()
    except (GameError, MemoryError):
        return None
    except Exception:
        pipe.send(_Fault(name, traceback.format_exc()))
        return None


def _free(game: CompiledGame, checked: CheckedRules, variant: str, literals: int) -> CompiledGame | None:
    """The game freed of its first position; None if that cannot be. Raises `LimitError` if it is much larger."""
    rules = freed(checked.rules)
    if rules is None:
        return None
    program = ground(rules, checked.roles, variant=variant, limit_literals=_FREED_GROWTH * literals + _LEAST_FREED)
    result = compiled_game(build_circuit(program, idle=False, swept=False))
    first = {fact for fact, holds in zip(game.fluents, game.programs.initial, strict=True) if holds}.union(game.always)
    if not first.issubset(result.fluents):
        return None
    initial = np.array([fact in first for fact in result.fluents])
    everywhere = np.where(initial, np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0))
    return replace(result, programs=result.programs._replace(initial=everywhere))


def start_compilation(checked: CheckedRules, limits: Limits = Limits(), freeing: Question | None = None) -> Compilation:
    """Starts compiling; the first child is forked before this returns. Call `warm_kernels` once per process before."""
    return Compilation(checked, limits, freeing)


def finished_compilation(
    checked: CheckedRules, limits: Limits = Limits(), freeing: Question | None = None
) -> Compilation:
    """A compilation that has a machine, or has failed."""
    warm_kernels()
    compilation = start_compilation(checked, limits, freeing)
    try:
        compilation.wait(limits.wall_seconds + 1.0)
    except BaseException:
        compilation.cancel()
        raise
    return compilation


def compile_rules(checked: CheckedRules, limits: Limits = Limits(), freeing: Question | None = None) -> CircuitMachine:
    """The machine of these rules. Raises `LimitError` if they do not compile within the limits, or for an error of this
    program."""
    compilation = finished_compilation(checked, limits, freeing)
    if compilation.machine is None:
        raise LimitError(f"the rules do not compile: {compilation.failed}")
    return compilation.machine


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
"""A nonsense game with everything that kernels distinguish: cycles, move sets, fluents that come and go."""

_warm_machine: CircuitMachine | None = None


def warm_kernels() -> CircuitMachine:
    """Compiles, or loads from the cache, all kernels between ground rules and the moves of a match; once per process.

    `CircuitMachine.random_playouts` is left out: no match needs it. Returns the small machine built for this, so that
    users of machines can warm their own kernels.
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
