"""Spin locks, alone and between threads."""

from __future__ import annotations

import threading

import numpy as np
from numba import njit

from games.bits.locks import try_lock, unlock, yield_core


@njit(cache=True, nogil=True)
def try_one(locks, index):
    """Whether the lock was free."""
    return try_lock(locks, index)


@njit(cache=True, nogil=True)
def free_one(locks, index):
    """Frees the lock."""
    unlock(locks, index)


@njit(cache=True, nogil=True)
def count_up(locks, index, counter, rounds):
    """Adds 1 and 1 again to the counter under the lock, `rounds` times."""
    for _ in range(rounds):
        while not try_lock(locks, index):
            yield_core()
        counter[0] += 1
        counter[1] = counter[0]
        counter[0] = counter[1] + 1
        unlock(locks, index)


def plain_try_lock(locks: list[int], index: int) -> bool:
    """The twin of `try_lock`, for one thread."""
    was_free = locks[index] == 0
    if was_free:
        locks[index] = 1
    return was_free


def plain_unlock(locks: list[int], index: int) -> None:
    """The twin of `unlock`, for one thread."""
    locks[index] = 0


def test_a_lock_is_taken_once() -> None:
    """Taking and freeing locks one after the other, in any order."""
    rng = np.random.default_rng(1)
    locks, plain = np.zeros(3, np.int64), [0, 0, 0]
    for index, free in zip(rng.integers(0, 3, 200).tolist(), rng.integers(0, 2, 200).tolist(), strict=True):
        if free:
            free_one(locks, index)
            plain_unlock(plain, index)
        else:
            assert try_one(locks, index) == plain_try_lock(plain, index)
        assert locks.tolist() == plain


def test_threads_wait_for_each_other() -> None:
    """What is read and written under the lock is never torn apart by another thread."""
    locks, counter = np.zeros(2, np.int64), np.zeros(2, np.int64)
    count_up(locks, 1, counter, 0)
    threads = [threading.Thread(target=count_up, args=(locks, 1, counter, 20000)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter[0] == 3 * 2 * 20000
    assert not locks.any()
