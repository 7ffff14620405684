"""From ground rules to gates: needed atoms become ORs of ANDs, atoms of positive cycles become `LOOP`s.

Atoms are taken by components of their dependencies (Tarjan, "Depth-first search and linear graph algorithms", 1972;
iterative).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.compiling import KERNEL
from games.gdl.circuit.outputs import Literals, Outputs
from games.gdl.circuit.pool import (
    BLOCK,
    FALSE,
    MOVE_SET,
    NO_ROOM,
    TRUE,
    Pool,
    conjoin,
    grow,
    intern,
    new_loop,
    new_pool,
)
from games.gdl.grounding.ground import ALWAYS, GroundProgram

_UNDEFINED = -1


class _RulesByHead(NamedTuple):
    """The ground rules, sorted by head."""

    first: NDArray[np.int64]
    """(atoms + 2) the rules of an atom are `rule[first[atom] : first[atom + 1]]`."""
    rule: NDArray[np.int64]
    body_start: NDArray[np.int64]
    """(rules + 1) the body of a rule is `body[body_start[rule] : body_start[rule + 1]]`."""
    body: NDArray[np.int32]
    """Atoms, negative if negated."""


class _Atoms(NamedTuple):
    """Results per atom: int32[atoms + 1] all, -1 where there is none."""

    literal: NDArray[np.int32]
    loop: NDArray[np.int32]
    """The `LOOP` signal of an atom in a positive cycle."""
    definition: NDArray[np.int32]
    """The literal that defines this signal."""


def build_gates(program: GroundProgram, *, idle: bool = True) -> tuple[Pool, Outputs]:
    """The circuit of a ground program, unreduced except for simplifications made while building.

    With `idle`, a role without a move that is always legal has one more possibility: no move.
    """
    n_atoms = program.n_atoms
    n_moves = np.array([len(legal) + (idle and ALWAYS not in legal) for legal in program.legal_atom], np.int32)
    order_by_head = np.argsort(program.rule_head, kind="stable").astype(np.int64)
    first_rule = np.zeros(n_atoms + 2, np.int64)
    np.cumsum(np.bincount(program.rule_head, minlength=n_atoms + 1), out=first_rule[1:])

    pool = new_pool(
        len(program.fluents), n_moves, len(program.fluents) + 2 * n_atoms + 1024, 2 * len(program.body) + 4096
    )
    rules = _RulesByHead(first_rule, order_by_head, program.body_start, program.body)
    atoms = _Atoms(*(np.full(n_atoms + 1, _UNDEFINED, np.int32) for _ in range(3)))
    used = program.true_atom > 0
    atoms.literal[program.true_atom[used]] = 2 * (np.flatnonzero(used) + 1)
    # No check for room: each of these moves has an atom, and the pool has two signals per atom.
    for role, does in enumerate(program.does_atom):
        asked = np.flatnonzero(does > 0).astype(np.int32)
        atoms.literal[does[asked]] = _single_moves(pool, role, asked)

    legal = np.concatenate([np.asarray(part, np.int32) for part in program.legal_atom])
    goal = np.array([atom for values in program.goals for _, atom in values], np.int32)
    terminal = np.array([program.terminal_atom], np.int32)
    nexts = np.asarray(program.next_atom, np.int32)
    wanted = np.concatenate((legal, nexts, terminal, goal))
    wanted = np.unique(wanted[wanted > 0])
    order, first_of_component = _components(wanted, atoms.literal, rules)
    conjunction = np.empty(max(1, int(np.diff(program.body_start).max(initial=0))), np.int32)
    disjunction = np.empty(max(1, int(np.diff(first_rule).max(initial=0))), np.int32)
    position = 0
    while True:
        position = _define_atoms(pool, order, first_of_component, position, atoms, rules, conjunction, disjunction)
        if position == len(first_of_component) - 1:
            break
        pool = grow(pool)

    def literals(of: NDArray[np.int32]) -> Literals:
        return np.where(of == 0, FALSE, np.where(of < 0, TRUE, atoms.literal[np.maximum(of, 0)])).astype(np.int32)

    looped = np.flatnonzero(atoms.loop >= 0)
    return pool, Outputs(
        legal=literals(legal),
        next=literals(nexts),
        terminal=literals(terminal),
        goal=literals(goal),
        loop_signal=atoms.loop[looped],
        loop_definition=atoms.definition[looped],
    )


@njit(cache=True, nogil=True)
def _single_moves(pool, role, moves):
    """The literals (int32[n]) "the role's move is this" for moves (int32[n]); the `Pool` must have room for them."""
    literals = np.empty(len(moves), np.int32)
    if pool.moves[role] == 1:
        literals[:] = TRUE
        return literals
    for i in range(len(moves)):
        literals[i] = 2 * intern(pool, np.int64(MOVE_SET), np.int32(role), moves[i : i + 1], np.int64(1))
    return literals


@njit(cache=True, nogil=True)
def _components(wanted, literal_of, rules):
    """Tarjan's algorithm from the wanted atoms (int32[n]) through atoms without a literal.

    `literal_of` is `_Atoms.literal`, `rules` a `_RulesByHead`. Returns the atoms ordered by component, dependencies
    first (int32), and the start of each component in that order (int32, one more than components).
    """
    first_rule, rule_of, body_start, body = rules.first, rules.rule, rules.body_start, rules.body
    n = len(literal_of)
    index = np.zeros(n, np.int32)
    low = np.zeros(n, np.int32)
    on_stack = np.zeros(n, np.bool_)
    order = np.empty(n, np.int32)
    firsts = np.empty(n + 1, np.int32)
    stack = np.empty(n, np.int32)
    calls = np.empty(n, np.int32)
    rule_at = np.zeros(n, np.int64)  # per open call: its next rule, and the next literal of that
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
        body_at[root] = body_start[rule_of[first_rule[root]]] if first_rule[root] < first_rule[root + 1] else 0
        while n_calls > 0:
            atom = calls[n_calls - 1]
            child = np.int32(-1)
            while rule_at[atom] < first_rule[atom + 1]:
                rule = rule_of[rule_at[atom]]
                if body_at[atom] == body_start[rule + 1]:
                    rule_at[atom] += 1
                    if rule_at[atom] < first_rule[atom + 1]:
                        body_at[atom] = body_start[rule_of[rule_at[atom]]]
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
                    body_start[rule_of[first_rule[child]]] if first_rule[child] < first_rule[child + 1] else 0
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


@njit(**KERNEL)
def _define_atoms(pool, order, firsts, position, atoms, rules, conjunction, disjunction):
    """Gives every atom its literal, by component; returns the component at which the pool ran out of room.

    `pool` is a `Pool`; `order` and `firsts` come from `_components`; `position` is the first component to do, `atoms`
    an `_Atoms` to fill, `rules` a `_RulesByHead`. Workspace are `conjunction` and `disjunction` (int32): as long as the
    longest body, and as the most rules of an atom.
    """
    literal_of, loops, definitions = atoms.literal, atoms.loop, atoms.definition
    first_rule, rule_of, body_start, body = rules.first, rules.rule, rules.body_start, rules.body
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
                rule = rule_of[k]
                size = 0
                trivial = False
                for j in range(body_start[rule], body_start[rule + 1]):
                    other = body[j]
                    if other == atom:  # an atom that supports itself: without effect in a least model
                        trivial = True
                        break
                    literal = literal_of[abs(other)]
                    if literal < 0:
                        literal = FALSE
                    conjunction[size] = literal if other > 0 else literal ^ 1
                    size += 1
                if trivial:
                    continue
                literal = conjoin(pool, conjunction, np.int64(size))
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
                literal = conjoin(pool, disjunction, np.int64(n_bodies))
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
