"""From a ground program to a boolean circuit: legal moves, terminal, goals and next facts as literals over one pool of
signals.

Order of work: strongly connected components of the atoms that outputs need (Tarjan 1972, iterative); each atom as an
OR of ANDs, components with positive cycles as `LOOP` signals; fluents that never change from their first value become
constants (ternary simulation to a fixpoint, the sequential sweep of hardware synthesis); gates that feed only one gate
are merged into it; literal pairs that many gates share are factored out (greedy single-cube extraction, Brayton &
McMullen 1982).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.gdl.ground import GroundProgram
from games.gdl.net import (
    BLOCK,
    FALSE,
    FLUENT,
    GATE,
    LOOP,
    MOVE_SET,
    N_SIGNALS,
    NO_ROOM,
    TRUE,
    Pool,
    conjoin,
    grow,
    intern,
    new_loop,
    new_pool,
)

Literals = NDArray[np.int32]

_UNDEFINED = -1
_PAIR_LIMIT = 1 << 22
"""Pairs counted in one round of factoring; bounds its memory (the table) and time."""


class Outputs(NamedTuple):
    """What the circuit computes, as literals."""

    legal: Literals
    """All roles' moves, one after the other, in the order of `Circuit.moves`."""
    next: Literals
    """One per fluent."""
    terminal: Literals
    """One element."""
    goal: Literals
    """One per (role, value) in the order of `Circuit.goals`."""
    loop_signal: NDArray[np.int32]
    loop_definition: Literals
    """The definition of each `LOOP` signal; least fixpoint, all loops of a component start false."""


@dataclass(frozen=True)
class Circuit:
    """The rules of a game as a net. `fluents` are the facts that really change; `always` those true in every state."""

    roles: tuple
    fluents: list
    always: list
    initial: NDArray[np.bool_]
    moves: list[list]
    goals: list[list[int]]
    """Per role, the values in the order of `Outputs.goal`."""
    pool: Pool
    outputs: Outputs

    @property
    def n_edges(self) -> int:
        """Inputs of all gates that an output needs: the measure of the circuit's size."""
        live = mark_live(self.pool, *_roots(self.outputs))
        gates = live[: self.pool.counts[N_SIGNALS]] & (self.pool.kind[: self.pool.counts[N_SIGNALS]] == GATE)
        return int(self.pool.size[: len(gates)][gates].sum())


def build_circuit(program: GroundProgram) -> Circuit:
    """The simplified circuit of a ground program. Time and memory are linear in its size, but for factoring's bounded
    rounds."""
    pool, outputs = _build(program)
    n_fluents = len(program.fluents)
    initial = np.zeros(n_fluents, np.bool_)
    initial[program.initial] = True
    constant = _constant_fluents(pool, outputs, initial)
    values = np.arange(2, 2 * n_fluents + 2, 2, dtype=np.int32)  # each fluent stands for itself
    values[constant] = np.where(initial[constant], TRUE, FALSE)
    kept = np.flatnonzero(~constant).astype(np.int32)
    values[kept] = 2 * (np.arange(len(kept), dtype=np.int32) + 1)
    outputs = outputs._replace(next=outputs.next[kept])
    pool, outputs = _rebuild(pool, outputs, values, len(kept), inline=False)
    identity = np.arange(2, 2 * len(kept) + 2, 2, dtype=np.int32)
    pool, outputs = _rebuild(pool, outputs, identity, len(kept), inline=True)
    pool = _factor(pool, outputs)
    return Circuit(
        roles=program.roles,
        fluents=[program.fluents[i] for i in kept],
        always=[program.fluents[i] for i in np.flatnonzero(constant & initial)],
        initial=initial[kept],
        moves=program.moves,
        goals=[[value for value, _ in values] for values in program.goals],
        pool=pool,
        outputs=outputs,
    )


def _roots(outputs: Outputs) -> tuple[Literals, NDArray[np.int32], Literals]:
    everything = np.concatenate((outputs.legal, outputs.next, outputs.terminal, outputs.goal))
    return everything, outputs.loop_signal, outputs.loop_definition


# -- from atoms to gates ----------------------------------------------------------------------------------------------


def _build(program: GroundProgram) -> tuple[Pool, Outputs]:
    n_atoms = program.n_atoms
    n_moves = np.array([len(moves) for moves in program.moves], np.int32)
    order_by_head = np.argsort(program.rule_head, kind="stable").astype(np.int64)
    first_rule = np.zeros(n_atoms + 2, np.int64)
    np.cumsum(np.bincount(program.rule_head, minlength=n_atoms + 1), out=first_rule[1:])

    pool = new_pool(
        len(program.fluents), n_moves, len(program.fluents) + 2 * n_atoms + 1024, 2 * len(program.body) + 4096
    )
    literal_of = np.full(n_atoms + 1, _UNDEFINED, np.int32)
    used = program.true_atom > 0
    literal_of[program.true_atom[used]] = 2 * (np.flatnonzero(used) + 1)
    for role, atoms in enumerate(program.does_atom):
        for move in np.flatnonzero(np.asarray(atoms) > 0):
            single = np.array([move], np.int32)
            while True:
                literal = _single_move(pool, role, single, int(n_moves[role]))
                if literal != NO_ROOM:
                    break
                pool = grow(pool)
            literal_of[atoms[move]] = literal

    legal = np.concatenate([np.asarray(atoms, np.int32) for atoms in program.legal_atom])
    goal = np.array([atom for values in program.goals for _, atom in values], np.int32)
    terminal = np.array([program.terminal_atom], np.int32)
    nexts = np.asarray(program.next_atom, np.int32)
    wanted = np.concatenate((legal, nexts, terminal, goal))
    wanted = np.unique(wanted[wanted > 0])
    order, first_of_component = _components(
        wanted, literal_of, first_rule, order_by_head, program.body_start, program.body
    )
    position = 0
    loops = np.full(n_atoms + 1, -1, np.int32)
    definitions = np.full(n_atoms + 1, -1, np.int32)
    while True:
        position = _define_atoms(
            pool, order, first_of_component, position, literal_of, loops, definitions, first_rule, order_by_head,
            program.body_start, program.body,
        )  # fmt: skip
        if position == len(first_of_component) - 1:
            break
        pool = grow(pool)

    def literals(atoms: NDArray[np.int32]) -> Literals:
        return np.where(atoms == 0, FALSE, np.where(atoms < 0, TRUE, literal_of[np.maximum(atoms, 0)])).astype(np.int32)

    looped = np.flatnonzero(loops >= 0)
    outputs = Outputs(
        literals(legal), literals(nexts), literals(terminal), literals(goal), loops[looped], definitions[looped]
    )
    return pool, outputs


def _single_move(pool: Pool, role: int, move: NDArray[np.int32], n_moves: int) -> int:
    if n_moves == 1:
        return TRUE
    signal = intern(pool, MOVE_SET, np.int32(role), move, 1)
    return NO_ROOM if signal == NO_ROOM else 2 * signal


@njit(cache=True, nogil=True)
def _components(wanted, literal_of, first_rule, rules, body_start, body):
    """Tarjan's algorithm from the wanted atoms: atoms ordered by component, dependencies first, and where each
    component starts."""
    n = len(literal_of)
    index = np.zeros(n, np.int32)
    low = np.zeros(n, np.int32)
    on_stack = np.zeros(n, np.bool_)
    order = np.empty(n, np.int32)
    firsts = np.empty(n + 1, np.int32)
    stack = np.empty(n, np.int32)
    calls = np.empty(n, np.int32)
    rule_at = np.zeros(n, np.int64)  # per open call: which rule, and which literal of it, comes next
    body_at = np.zeros(n, np.int64)
    n_order = 0
    n_components = 0
    n_stack = 0
    clock = 0
    for root in wanted:
        if literal_of[root] >= 0 or index[root] > 0:
            continue
        n_calls = 1
        calls[0] = root
        clock += 1
        index[root] = clock
        low[root] = clock
        stack[n_stack] = root
        n_stack += 1
        on_stack[root] = True
        rule_at[root] = first_rule[root]
        body_at[root] = body_start[rules[first_rule[root]]] if first_rule[root] < first_rule[root + 1] else 0
        while n_calls > 0:
            atom = calls[n_calls - 1]
            child = np.int32(-1)
            while rule_at[atom] < first_rule[atom + 1]:
                rule = rules[rule_at[atom]]
                if body_at[atom] == body_start[rule + 1]:
                    rule_at[atom] += 1
                    if rule_at[atom] < first_rule[atom + 1]:
                        body_at[atom] = body_start[rules[rule_at[atom]]]
                    continue
                other = abs(body[body_at[atom]])
                body_at[atom] += 1
                if literal_of[other] >= 0:
                    continue
                if index[other] == 0:
                    child = other
                    break
                if on_stack[other]:
                    low[atom] = min(low[atom], index[other])
            if child >= 0:
                clock += 1
                index[child] = clock
                low[child] = clock
                stack[n_stack] = child
                n_stack += 1
                on_stack[child] = True
                rule_at[child] = first_rule[child]
                body_at[child] = (
                    body_start[rules[first_rule[child]]] if first_rule[child] < first_rule[child + 1] else 0
                )
                calls[n_calls] = child
                n_calls += 1
                continue
            n_calls -= 1
            if n_calls > 0:
                parent = calls[n_calls - 1]
                low[parent] = min(low[parent], low[atom])
            if low[atom] == index[atom]:
                firsts[n_components] = n_order
                n_components += 1
                while True:
                    n_stack -= 1
                    member = stack[n_stack]
                    on_stack[member] = False
                    order[n_order] = member
                    n_order += 1
                    if member == atom:
                        break
    firsts[n_components] = n_order
    return order[:n_order], firsts[: n_components + 1]


@njit(cache=True, nogil=True)
def _define_atoms(pool, order, firsts, position, literal_of, loops, definitions, first_rule, rules, body_start, body):
    """Gives every atom its literal, component by component; returns the component at which the pool ran out of room."""
    longest = 1
    for rule in range(len(body_start) - 1):
        longest = max(longest, body_start[rule + 1] - body_start[rule])
    widest = 1
    for i in range(len(order)):
        widest = max(widest, first_rule[order[i] + 1] - first_rule[order[i]])
    conjunction = np.empty(longest, np.int32)
    disjunction = np.empty(widest, np.int32)
    while position < len(firsts) - 1:
        begin = firsts[position]
        end = firsts[position + 1]
        cyclic = end - begin > 1
        if cyclic:
            pool.counts[BLOCK] = position
            for i in range(begin, end):
                atom = order[i]
                if loops[atom] < 0:
                    loops[atom] = new_loop(pool)
                    if loops[atom] == NO_ROOM:
                        return position
                literal_of[atom] = 2 * loops[atom]
        for i in range(end - 1, begin - 1, -1):
            atom = order[i]
            n_bodies = 0
            holds = False
            for k in range(first_rule[atom], first_rule[atom + 1]):
                rule = rules[k]
                size = 0
                trivial = False
                for j in range(body_start[rule], body_start[rule + 1]):
                    other = body[j]
                    if other == atom:  # an atom supports itself: says nothing in a least model
                        trivial = True
                        break
                    literal = literal_of[abs(other)]
                    if literal < 0:
                        literal = FALSE
                    conjunction[size] = literal if other > 0 else literal ^ 1
                    size += 1
                if trivial:
                    continue
                literal = conjoin(pool, conjunction, size)
                if literal == NO_ROOM:
                    return position
                if literal == TRUE:
                    holds = True
                    break
                disjunction[n_bodies] = literal ^ 1
                n_bodies += 1
            if holds:
                result = TRUE
            else:
                literal = conjoin(pool, disjunction, n_bodies)
                if literal == NO_ROOM:
                    return position
                result = literal ^ 1
            if cyclic:
                definitions[atom] = result
            else:
                literal_of[atom] = result
        pool.counts[BLOCK] = -1
        position += 1
    return position


# -- constant fluents -------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def mark_live(pool, roots, loop_signal, loop_definition):
    """Which signals the roots need, as a boolean per signal; loops pull in their definitions."""
    n = pool.counts[N_SIGNALS]
    live = np.zeros(n, np.bool_)
    definition = np.full(n, -1, np.int32)
    for i in range(len(loop_signal)):
        definition[loop_signal[i]] = loop_definition[i]
    stack = np.empty(n, np.int32)
    top = 0
    for literal in roots:
        signal = literal >> 1
        if not live[signal]:
            live[signal] = True
            stack[top] = signal
            top += 1
    while top > 0:
        top -= 1
        signal = stack[top]
        if pool.kind[signal] == GATE:
            for i in range(pool.start[signal], pool.start[signal] + pool.size[signal]):
                other = pool.items[i] >> 1
                if not live[other]:
                    live[other] = True
                    stack[top] = other
                    top += 1
        elif pool.kind[signal] == LOOP:
            other = definition[signal] >> 1
            if not live[other]:
                live[other] = True
                stack[top] = other
                top += 1
    return live


def _constant_fluents(pool: Pool, outputs: Outputs, initial: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which fluents keep their initial value in every reachable state (a sufficient test), as a boolean per fluent."""
    live = mark_live(pool, outputs.next, outputs.loop_signal, outputs.loop_definition)
    return ~_ternary_fixpoint(pool, live, outputs.next, initial)


@njit(cache=True, nogil=True)
def _ternary_fixpoint(pool, live, nexts, initial):
    """Fluents that may change: start with all at their initial value, moves unknown, and let unknowns spread until
    nothing new is.

    A gate counts its false and its unknown inputs, so the whole fixpoint touches each edge a bounded number of times.
    """
    n = pool.counts[N_SIGNALS]
    n_fluents = len(initial)
    fanout = np.zeros(n + 1, np.int64)
    for gate in range(n):
        if live[gate] and pool.kind[gate] == GATE:
            for i in range(pool.start[gate], pool.start[gate] + pool.size[gate]):
                fanout[pool.items[i] >> 1] += 1
    total = np.int64(0)
    for signal in range(n + 1):
        count = fanout[signal]
        fanout[signal] = total
        total += count
    readers = np.empty(total, np.int32)
    fill = fanout.copy()
    for gate in range(n):
        if live[gate] and pool.kind[gate] == GATE:
            for i in range(pool.start[gate], pool.start[gate] + pool.size[gate]):
                signal = pool.items[i] >> 1
                readers[fill[signal]] = 2 * gate + (pool.items[i] & 1)
                fill[signal] += 1
    value = np.zeros(n, np.int8)  # 0 false, 1 true, 2 unknown
    zeros = np.zeros(n, np.int32)
    unknowns = np.zeros(n, np.int32)
    value[0] = 1
    for fluent in range(n_fluents):
        value[fluent + 1] = 1 if initial[fluent] else 0
    for signal in range(n):
        if pool.kind[signal] == MOVE_SET or pool.kind[signal] == LOOP:
            value[signal] = 2
        elif pool.kind[signal] == GATE and live[signal]:
            for i in range(pool.start[signal], pool.start[signal] + pool.size[signal]):
                other = value[pool.items[i] >> 1]
                if other == 2:
                    unknowns[signal] += 1
                elif other == (pool.items[i] & 1):
                    zeros[signal] += 1
            value[signal] = 0 if zeros[signal] else (2 if unknowns[signal] else 1)
    # next facts by the signal that carries them
    first_next = np.zeros(n + 1, np.int64)
    for fluent in range(n_fluents):
        first_next[nexts[fluent] >> 1] += 1
    total = 0
    for signal in range(n + 1):
        count = first_next[signal]
        first_next[signal] = total
        total += count
    next_of = np.empty(n_fluents, np.int32)
    fill = first_next.copy()
    for fluent in range(n_fluents):
        signal = nexts[fluent] >> 1
        next_of[fill[signal]] = fluent
        fill[signal] += 1
    changes = np.zeros(n_fluents, np.bool_)
    queue = np.empty(n + n_fluents, np.int32)
    head = 0
    tail = 0
    for fluent in range(n_fluents):
        literal = nexts[fluent]
        known = value[literal >> 1]
        expected = 1 if initial[fluent] else 0
        if known == 2 or (known ^ (literal & 1)) != expected:
            changes[fluent] = True
            value[fluent + 1] = 2
            queue[tail] = fluent + 1
            tail += 1
    old = np.zeros(n, np.int8)
    for fluent in range(n_fluents):
        old[fluent + 1] = 1 if initial[fluent] else 0
    while head < tail:
        signal = queue[head]
        head += 1
        was = old[signal]
        for k in range(first_next[signal], first_next[signal + 1]):
            fluent = next_of[k]
            if not changes[fluent]:
                changes[fluent] = True
                if value[fluent + 1] != 2:
                    value[fluent + 1] = 2
                    queue[tail] = fluent + 1
                    tail += 1
        for k in range(fanout[signal], fanout[signal + 1]):
            gate = readers[k] >> 1
            if was == (readers[k] & 1):
                zeros[gate] -= 1
            unknowns[gate] += 1
            if value[gate] != 2 and zeros[gate] == 0:
                old[gate] = value[gate]
                value[gate] = 2
                queue[tail] = gate
                tail += 1
    return changes


# -- rebuilding -------------------------------------------------------------------------------------------------------


def _rebuild(
    pool: Pool, outputs: Outputs, fluent_value: Literals, n_fluents: int, *, inline: bool
) -> tuple[Pool, Outputs]:
    """The live part of the net again, with fluents replaced by literals and, if asked, single-reader gates merged into
    their reader."""
    live = mark_live(pool, *_roots(outputs))
    n = int(pool.counts[N_SIGNALS])
    fresh = new_pool(n_fluents, pool.moves, n + 64, int(pool.size[:n][live[:n]].sum()) + 4096)
    mapped = np.full(n, _UNDEFINED, np.int32)
    mapped[0] = TRUE
    old_fluents = len(fluent_value)
    mapped[1 : old_fluents + 1] = fluent_value
    merge = _single_readers(pool, live, *_roots(outputs)) if inline else np.zeros(n, np.bool_)
    position = old_fluents + 1
    while True:
        position = _copy_signals(pool, fresh, live, merge, mapped, position)
        if position == n:
            break
        fresh = grow(fresh)

    def moved(literals: Literals) -> Literals:
        return (mapped[literals >> 1] ^ (literals & 1)).astype(np.int32)

    used = live[outputs.loop_signal]
    return fresh, Outputs(
        moved(outputs.legal),
        moved(outputs.next),
        moved(outputs.terminal),
        moved(outputs.goal),
        (mapped[outputs.loop_signal[used]] >> 1).astype(np.int32),
        moved(outputs.loop_definition[used]),
    )


@njit(cache=True, nogil=True)
def _single_readers(pool, live, roots, loop_signal, loop_definition):
    """Gates that exactly one gate reads, un-negated, and that are no output: the reader can take over their inputs."""
    n = pool.counts[N_SIGNALS]
    reads = np.zeros(n, np.int32)
    for literal in roots:
        reads[literal >> 1] += 2
    for literal in loop_definition:
        reads[literal >> 1] += 2
    for gate in range(n):
        if live[gate] and pool.kind[gate] == GATE:
            for i in range(pool.start[gate], pool.start[gate] + pool.size[gate]):
                literal = pool.items[i]
                reads[literal >> 1] += 2 if (literal & 1 or pool.owner[gate] >= 0) else 1
    merge = np.zeros(n, np.bool_)
    for gate in range(n):
        merge[gate] = live[gate] and pool.kind[gate] == GATE and reads[gate] == 1 and pool.owner[gate] < 0
    return merge


@njit(cache=True, nogil=True)
def _copy_signals(old, fresh, live, merge, mapped, position):
    """Copies signals in order; returns where the new pool ran out of room, or the number of old signals."""
    n = old.counts[N_SIGNALS]
    literals = np.empty(64, np.int32)
    stack = np.empty(64, np.int32)
    for signal in range(position, n):
        if not live[signal] or merge[signal]:
            continue
        kind = old.kind[signal]
        if kind == MOVE_SET:
            start = old.start[signal]
            size = old.size[signal]
            result = intern(fresh, MOVE_SET, old.owner[signal], old.items[start : start + size], size)
            if result == NO_ROOM:
                return signal
            mapped[signal] = 2 * result
        elif kind == LOOP:
            fresh.counts[BLOCK] = old.owner[signal]
            result = new_loop(fresh)
            if result == NO_ROOM:
                return signal
            mapped[signal] = 2 * result
        elif kind == GATE:
            k = 0
            top = 1
            stack[0] = signal
            while top > 0:
                top -= 1
                gate = stack[top]
                for i in range(old.start[gate], old.start[gate] + old.size[gate]):
                    literal = old.items[i]
                    if merge[literal >> 1]:
                        if top == len(stack):
                            stack = np.concatenate((stack, np.empty(len(stack), np.int32)))
                        stack[top] = literal >> 1
                        top += 1
                        continue
                    if k == len(literals):
                        literals = np.concatenate((literals, np.empty(len(literals), np.int32)))
                    literals[k] = mapped[literal >> 1] ^ (literal & 1)
                    k += 1
            fresh.counts[BLOCK] = old.owner[signal]
            result = conjoin(fresh, literals, k)
            if result == NO_ROOM:
                return signal
            mapped[signal] = result
    return n


# -- factoring --------------------------------------------------------------------------------------------------------


def _factor(pool: Pool, outputs: Outputs, *, rounds: int = 8) -> Pool:
    """Extracts literal pairs that many gates share, most frequent first, round after round while it pays."""
    for _ in range(rounds):
        live = mark_live(pool, *_roots(outputs))
        saved, complete = _factor_round(pool, live)
        if not complete:
            pool = grow(pool)
        elif saved * 200 < live.sum():
            break
    return pool


@njit(cache=True, nogil=True)
def _pair_slot(keys, a, b):
    key = (np.int64(a) << 32) | np.int64(b)
    mask = np.uint64(len(keys) - 1)
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = (h ^ (h >> np.uint64(31))) & mask
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot), key


@njit(cache=True, nogil=True)
def _factor_round(pool, live):
    """One round; returns the number of edges saved and whether the pool had room for all of it."""
    n = pool.counts[N_SIGNALS]
    pairs = 0
    widest = 0
    for gate in range(len(live)):
        if live[gate] and pool.kind[gate] == GATE and pool.owner[gate] < 0:
            size = np.int64(pool.size[gate])
            widest = max(widest, size)
            if size > 2:
                pairs += min(size, 48) * (min(size, 48) - 1) // 2
    if pairs == 0:
        return 0, True
    length = 1024
    while length < 2 * min(pairs, _PAIR_LIMIT):
        length *= 2
    keys = np.full(length, -1, np.int64)
    uses = np.zeros(length, np.int32)
    filled = 0
    reads = np.zeros(2 * n + 1, np.int64)
    for gate in range(n):
        if not live[gate] or pool.kind[gate] != GATE or pool.owner[gate] >= 0:
            continue
        first = pool.start[gate]
        size = pool.size[gate]
        for i in range(first, first + size):
            reads[pool.items[i]] += 1
        if size < 3 or filled * 2 > length:
            continue
        for i in range(first, first + min(size, 48)):
            for j in range(i + 1, first + min(size, 48)):
                slot, key = _pair_slot(keys, pool.items[i], pool.items[j])
                if keys[slot] == -1:
                    keys[slot] = key
                    filled += 1
                uses[slot] += 1
    total = np.int64(0)
    for literal in range(2 * n + 1):
        count = reads[literal]
        reads[literal] = total
        total += count
    readers = np.empty(total, np.int32)
    fill = reads.copy()
    for gate in range(n):
        if live[gate] and pool.kind[gate] == GATE and pool.owner[gate] < 0:
            for i in range(pool.start[gate], pool.start[gate] + pool.size[gate]):
                readers[fill[pool.items[i]]] = gate
                fill[pool.items[i]] += 1
    chosen = np.flatnonzero(uses >= 3)
    chosen = chosen[np.argsort(-uses[chosen])]
    saved = 0
    both = np.empty(2, np.int32)
    users = np.empty(n, np.int32)
    for slot in chosen:
        a = np.int32(keys[slot] >> 32)
        b = np.int32(keys[slot] & 0xFFFFFFFF)
        rare = a if reads[a + 1] - reads[a] <= reads[b + 1] - reads[b] else b
        other = b if rare == a else a
        k = 0
        existing = False
        for r in range(reads[rare], reads[rare + 1]):
            gate = readers[r]
            has_rare = False
            has_other = False
            for i in range(pool.start[gate], pool.start[gate] + pool.size[gate]):
                if pool.items[i] == rare:
                    has_rare = True
                elif pool.items[i] == other:
                    has_other = True
            if has_rare and has_other:
                if pool.size[gate] == 2:
                    existing = True
                else:
                    users[k] = gate
                    k += 1
        if k < (1 if existing else 4):
            continue
        both[0] = min(a, b)
        both[1] = max(a, b)
        pool.counts[BLOCK] = -1
        signal = intern(pool, GATE, np.int32(-1), both, 2)
        if signal == NO_ROOM:
            return saved, False
        if pool.owner[signal] >= 0:  # a gate inside a cycle, which may itself wait for one of the users
            continue
        for u in range(k):
            gate = users[u]
            if gate == signal:
                continue
            first = pool.start[gate]
            at = first
            for i in range(first, first + pool.size[gate]):
                if pool.items[i] != a and pool.items[i] != b:
                    pool.items[at] = pool.items[i]
                    at += 1
            pool.items[at] = 2 * signal
            pool.size[gate] = at + 1 - first
        saved += k if existing else k - 2
    return saved, True


def fluent_signals(circuit: Circuit) -> range:
    """The signals of the circuit's fluents, in order."""
    assert (circuit.pool.kind[1 : len(circuit.fluents) + 1] == FLUENT).all()
    return range(1, len(circuit.fluents) + 1)
