"""The pool of signals: conjunctions are simplified and shared, and keep their meaning."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from games.gdl.circuit.pool import (
    FALSE,
    GATE,
    MOVE_SET,
    N_SIGNALS,
    NO_ROOM,
    TRUE,
    Pool,
    conjoin,
    grow,
    items_of,
    move_set,
    new_pool,
    sort,
)

N_FLUENTS = 4


def make_pool(*moves: int, room: int = 4096) -> Pool:
    """A pool with four fluents and `moves` moves per role."""
    return new_pool(N_FLUENTS, np.array(moves, np.int32), room, 4 * room)


def conjunction(pool: Pool, literals: Sequence[int]) -> int:
    """The literal for the AND of these."""
    return int(conjoin(pool, np.array(literals, np.int32), len(literals)))


def one_of(pool: Pool, role: int, moves: set[int]) -> int:
    """The literal "the role's move is one of these"."""
    return int(move_set(pool, role, np.array(sorted(moves), np.int32), len(moves)))


def holds(pool: Pool, literal: int, fluents: Sequence[bool], joint: Sequence[int]) -> bool:
    """The value of a literal, by the definitions in the pool."""
    signal, negated = literal >> 1, bool(literal & 1)
    items = items_of(pool, signal).tolist()
    if signal == 0:
        value = True
    elif signal <= N_FLUENTS:
        value = fluents[signal - 1]
    elif pool.kind[signal] == MOVE_SET:
        value = joint[pool.owner[signal]] in items
    else:
        assert pool.kind[signal] == GATE
        value = all(holds(pool, item, fluents, joint) for item in items)
    return value != negated


@pytest.mark.parametrize("sizes", [(2, 3), (5, 1), (5, 70)])
def test_conjunctions_of_random_literals_mean_their_and(sizes: tuple[int, int]) -> None:
    """Over fluents, gates and move sets of two roles, in either polarity, for every joint move."""
    rng = random.Random(sum(sizes))
    pool = make_pool(*sizes)
    literals = [TRUE, FALSE, *range(2, 2 * N_FLUENTS + 2)]
    for role, size in enumerate(sizes):
        literals += [one_of(pool, role, set(rng.sample(range(size), rng.randint(0, size)))) for _ in range(12)]
    for _ in range(80):
        parts = [rng.choice(literals) ^ rng.getrandbits(1) for _ in range(rng.randint(0, 6))]
        result = conjunction(pool, parts)
        literals.append(result)
        fluents = [bool(rng.getrandbits(1)) for _ in range(N_FLUENTS)]
        for first in range(sizes[0]):
            for second in range(sizes[1]):
                joint = (first, second)
                expected = all(holds(pool, part, fluents, joint) for part in parts)
                assert holds(pool, result, fluents, joint) == expected


def test_sets_of_one_role_meet_in_one_set() -> None:
    """Intersections and unions of a role's sets are computed while the circuit is built; none becomes a gate."""
    rng = random.Random(7)
    pool = make_pool(12, 30)
    for _ in range(200):
        a, b, c = (set(rng.sample(range(30), rng.randint(1, 29))) for _ in range(3))
        meet = conjunction(pool, [one_of(pool, 1, a), one_of(pool, 1, b), one_of(pool, 1, c) ^ 1])
        assert meet == one_of(pool, 1, a & b - c)
        join = conjunction(pool, [one_of(pool, 1, a) ^ 1, one_of(pool, 1, b) ^ 1]) ^ 1
        assert join == one_of(pool, 1, a | b)
    assert not (pool.kind[: pool.counts[N_SIGNALS]] == GATE).any()


def test_no_set_holds_more_than_half_of_the_moves() -> None:
    """The smaller of a set and its complement is stored; both are literals on the same signal."""
    pool = make_pool(9)
    most = one_of(pool, 0, {0, 1, 2, 3, 4, 5, 8})
    assert most == one_of(pool, 0, {6, 7}) ^ 1
    assert pool.size[most >> 1] == 2
    pool = make_pool(4)
    assert one_of(pool, 0, {0, 1}) == one_of(pool, 0, {2, 3}) ^ 1
    assert (one_of(pool, 0, set()), one_of(pool, 0, {0, 1, 2, 3})) == (FALSE, TRUE)


@pytest.mark.parametrize(
    ("literals", "simple"),
    [
        ([], TRUE),
        ([TRUE, TRUE], TRUE),
        ([2, FALSE, 4], FALSE),
        ([2, TRUE, 2], 2),
        ([2, 4, 3], FALSE),
        ([5, TRUE], 5),
    ],
)
def test_simple_conjunctions_need_no_gate(literals: list[int], simple: int) -> None:
    """Constants, repeats and contradictions are folded."""
    pool = make_pool(2)
    assert conjunction(pool, literals) == simple
    assert pool.counts[N_SIGNALS] == N_FLUENTS + 1


def test_equal_conjunctions_share_a_gate() -> None:
    """The order of literals and repeats do not matter, also beyond two dozen literals."""
    pool = new_pool(40, np.array([2], np.int32), 256, 4096)
    for literals in ([2, 5, 8], list(range(2, 80, 2))):
        first = conjunction(pool, literals)
        used = int(pool.counts[N_SIGNALS])
        assert conjunction(pool, [*reversed(literals), literals[0]]) == first
        assert pool.counts[N_SIGNALS] == used


def filled(pool: Pool, make: Callable[[Pool, int], int]) -> tuple[Pool, list[int], int]:
    """Makes 300 literals in a pool that grows when full; returns pool, literals and how often it grew."""
    made: list[int] = []
    grown = 0
    while len(made) < 300:
        literal = make(pool, len(made))
        if literal == NO_ROOM:
            pool = grow(pool)
            grown += 1
        else:
            made.append(literal)
    return pool, made, grown


def test_a_full_pool_says_so_and_keeps_everything_when_it_grows() -> None:
    """`NO_ROOM` leaves the pool as it was; after growing the same gates are found again."""

    def make(pool: Pool, number: int) -> int:
        return conjunction(pool, [2 * (1 + number % 25), 2 * (26 + number // 25) + 1])

    pool, made, grown = filled(new_pool(40, np.array([1], np.int32), 64, 64), make)
    assert grown > 0
    assert len(set(made)) == 300
    assert [make(pool, number) for number in range(300)] == made


@pytest.mark.parametrize("n", [0, 1, 2, 3, 25, 200])
def test_wide_gates_are_sorted(n: int) -> None:
    values = np.random.default_rng(n).integers(0, 100, n).astype(np.int32)
    expected = np.sort(values)
    sort(values, n)
    assert values.tolist() == expected.tolist()
