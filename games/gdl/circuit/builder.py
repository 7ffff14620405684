"""Gates added to a pool one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy

import numpy as np

from games.gdl.circuit.pool import NO_ROOM, Pool, conjoin, grow, new_pool


class CircuitBuilder:
    """A pool that grows with its gates. Literals are the pool's."""

    def __init__(self, n_fluents: int, moves: Sequence[int], signals: int) -> None:
        """`moves` are numbers of moves by role, `signals` is a rough number of gates."""
        self.pool = new_pool(n_fluents, np.array(moves, np.int32), 2 * signals + 4 * n_fluents, 8 * signals)

    @classmethod
    def extending(cls, pool: Pool) -> CircuitBuilder:
        """A builder that adds gates to a copy of a pool."""
        builder = cls(0, (), 0)
        builder.pool = deepcopy(pool)
        return builder

    def both(self, *literals: int) -> int:
        """The conjunction of some literals."""
        return self._conjoin(literals)

    def either(self, *literals: int) -> int:
        """The disjunction of some literals."""
        return self._conjoin([literal ^ 1 for literal in literals]) ^ 1

    def _conjoin(self, literals: Iterable[int]) -> int:
        values = np.array(literals, np.int32)
        # `conjoin` sorts its argument in place, so each attempt gets a copy.
        while (literal := int(conjoin(self.pool, values.copy(), len(values)))) == NO_ROOM:
            self.pool = grow(self.pool)
        return literal
