"""Recognition of the Blokbox family in a compiled game.

Experiments (`probe`) yield a binding. A move adds the cells it covers and removes its piece. The own cells that block
it are those and the cells beside them; the own cells that enable it lie diagonally beside it. So unnamed squares become
a grid (`geometry`). A mismatch on the way refuses the game. A binding counts only after whole random matches
(`verify`). Where the match begins midway, the experiments are made on the freed circuit (`games.native.midway`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from games.bits.board16x16 import SIDE
from games.gdl.running.machine import CircuitMachine
from games.machine import Term
from games.native.blokbox.binding import BindingError, BlokboxBinding
from games.native.blokbox.geometry import Neighbourhoods, embed
from games.native.blokbox.probe import Bits, Effects, Obstacles, Probe
from games.native.blokbox.variant import (
    BOARD_CELLS,
    CORNER_STEPS,
    MAX_PIECES,
    SIDE_STEPS,
    BlokboxVariant,
    Cell,
    Shape,
)
from games.native.blokbox.verify import follow
from games.native.recognition import NotRecognised, Recognition


def propose(machine: CircuitMachine) -> BlokboxBinding:
    """The only possible binding, by the experiments. Raises `NotRecognised` where there is none."""
    return _Proposal(machine, *Probe(machine).observe()).binding()


def propose_midway(machine: CircuitMachine, freed: CircuitMachine) -> BlokboxBinding:
    """The freed machine's binding, begun in the first position of the machine itself."""
    binding = _Proposal(freed, *Probe(machine).observe_midway(Probe(freed))).binding()
    facts = machine.facts(machine.initial())
    cells = [frozenset(cell for fact, cell in binding.cells[player].items() if fact in facts) for player in (0, 1)]
    owned = [frozenset(piece for fact, piece in binding.owned[player].items() if fact in facts) for player in (0, 1)]
    variant = binding.variant
    starts = variant.starts[0] | cells[0], variant.starts[1] | cells[1]
    possible = [frozenset(machine.game.moves[role]) for role in binding.roles]
    first, second = (
        {term: move for term, move in moves.items() if term in known}
        for moves, known in zip(binding.moves, possible, strict=True)
    )
    begun = replace(variant, starts=starts, owned=(owned[0], owned[1]))
    binding = replace(binding, variant=begun, moves=(first, second))
    try:
        binding.position(facts)
    except BindingError as error:
        raise NotRecognised(f"it looks like {begun}, but it begins in no position of it: {error}") from None
    return binding


class _Proposal:
    """A binding in the making. Lists are by player: player 0 moves first."""

    def __init__(self, machine: CircuitMachine, first: int, effects: list[Effects]) -> None:
        """`first` is the role that moves first, `effects` are by role."""
        self.machine = machine
        self.fluents = machine.game.fluents
        self.probe = Probe(machine)
        self.roles = (first, 1 - first)
        self.effects = [effects[role] for role in self.roles]
        self._sort_facts()
        cells: list[NDArray[np.int64]] = [np.empty(0, np.int64)] * 2
        for player, role in enumerate(self.roles):
            cells[role] = self.added[player]
        free = self._free_facts()
        self.obstacles = [self.probe.obstacles(role, effects, cells, free) for role in self.roles]
        self.live = [obstacles.live for obstacles in self.obstacles]
        self._sort_squares()

    def _sort_facts(self) -> None:
        """Finds the facts of cells (only added), pieces (removed by one player) and empty cells (removed by both)."""
        added = [effects.adds.any(axis=0) for effects in self.effects]
        removed = [effects.removes.any(axis=0) for effects in self.effects]
        if (added[0] & added[1]).any() or ((added[0] | added[1]) & (removed[0] | removed[1])).any():
            raise NotRecognised("moves take back what others do: pieces that lie do not stay")
        if not all(facts.any() for facts in added):
            raise NotRecognised("the moves of a role put nothing on a board")
        self.added = [np.flatnonzero(facts) for facts in added]
        self.free = removed[0] & removed[1]
        self.pieces = [facts & ~self.free for facts in removed]
        for effects, pieces in zip(self.effects, self.pieces, strict=True):
            spent = (effects.removes & pieces).sum(axis=1)
            spent[effects.waiting] = 1
            if (spent != 1).any():
                number = int(spent[np.flatnonzero(spent != 1)[0]])
                raise NotRecognised(f"a move uses up {number} facts that could be pieces instead of 1")

    def _free_facts(self) -> Bits:
        """bool[fluents, fluents]: [f, g] where fact f says that a cell is taken, and fact g that it is empty."""
        result = np.zeros((len(self.fluents), len(self.fluents)), np.bool_)
        for effects, added in zip(self.effects, self.added, strict=True):
            moves_of = {effects.removes[:, fact].tobytes(): fact for fact in np.flatnonzero(self.free)}
            for fact in added:
                free = moves_of.get(effects.adds[:, fact].tobytes())
                if free is not None:
                    result[fact, free] = True
        self.free_of = result
        return result

    def _sort_squares(self) -> None:
        """Numbers the coverable squares; both players' facts about one square share a number."""
        covers = []
        for player in (0, 1):
            effects, live = self.effects[player], self.live[player]
            covers.append(effects.adds[live][:, self.added[player]])
        self.square: list[dict[int, int]] = [{}, {}]
        for index, fact in enumerate(self.added[0]):
            if covers[0][:, index].any():
                self.square[0][int(fact)] = len(self.square[0])
        # The facts of one square: the moves by which a player covers it are those that the other's colour on it blocks.
        same = [
            self.obstacles[player].blocked_by_other[self.live[player]].T for player in (0, 1)
        ]  # [other's facts, live moves]
        by_pattern = {
            (column.tobytes(), way.tobytes()): int(fact)
            for fact, column, way in zip(self.added[0], covers[0].T, same[1], strict=True)
            if int(fact) in self.square[0] and way.any()
        }
        n = len(self.square[0])
        for fact, column, way in zip(self.added[1], covers[1].T, same[0], strict=True):
            if column.any():
                twin = by_pattern.get((way.tobytes(), column.tobytes()))
                self.square[1][int(fact)] = n if twin is None else self.square[0][twin]
                n += twin is None
        self.n_squares = n

    def _neighbourhoods(self) -> Neighbourhoods[int]:
        every = range(self.n_squares)
        result: Neighbourhoods[int] = Neighbourhoods(
            sides={square: set() for square in every},
            corners={square: set() for square in every},
            judged={square: set() for square in every},
        )
        for player in (0, 1):
            facts = self.added[player]
            known = np.array([int(fact) in self.square[player] for fact in facts])
            squares = np.array([self.square[player][int(fact)] for fact in facts[known]])
            beside, around, shown = _closed_neighbours(self.effects[player], self.obstacles[player], facts, known)
            for index, square in enumerate(squares):
                sides = beside[index] & beside[:, index]
                judged = shown | shown[index]
                corners = around[index] & around[:, index] & ~sides & judged
                sides[index] = corners[index] = False
                result.sides[int(square)].update(squares[sides].tolist())
                result.corners[int(square)].update(squares[corners].tolist())
                result.judged[int(square)].update(squares[judged].tolist())
        return result

    def binding(self) -> BlokboxBinding:
        grid = embed(self._neighbourhoods())
        if grid is None:
            raise NotRecognised(
                f"its {self.n_squares} squares are no grid within {SIDE}x{SIDE}, by what stands in the way of what"
            )
        width = 1 + max(x for x, _ in grid.values())
        height = 1 + max(y for _, y in grid.values())
        cells: list[dict[Term, Cell]] = []
        for player in (0, 1):
            cells.append({self.fluents[fact]: grid[square] for fact, square in self.square[player].items()})
        shapes, owned, moves = self._shapes([self._placed(player, grid) for player in (0, 1)])
        starts = self._starts(grid, width, height)
        changing = np.zeros(len(self.fluents), np.bool_)
        changing[np.concatenate(self.added)] = True
        changing |= self.pieces[0] | self.pieces[1] | self.free
        control = [
            frozenset(self.fluents[fact] for fact in np.flatnonzero(effects.base & ~changing)).union(
                self.machine.game.always
            )
            for effects in self.effects
        ]
        free = {
            self.fluents[other]: grid[square]
            for player in (0, 1)
            for fact, square in self.square[player].items()
            for other in np.flatnonzero(self.free_of[fact])
        }
        pieces = frozenset(owned[0].values()), frozenset(owned[1].values())
        return BlokboxBinding(
            variant=BlokboxVariant(width, height, shapes, pieces, (starts[0], starts[1])),
            roles=self.roles,
            moves=(moves[0], moves[1]),
            waiting=(self._term(0, self.effects[0].waiting), self._term(1, self.effects[1].waiting)),
            cells=(cells[0], cells[1]),
            owned=(owned[0], owned[1]),
            free=free,
            control=(control[0], control[1]),
        )

    def _term(self, player: int, move: int) -> Term:
        return self.machine.game.moves[self.roles[player]][move]

    def _placed(self, player: int, grid: dict[int, Cell]) -> dict[int, list[tuple[int, tuple[Cell, ...], Cell]]]:
        """Moves as (move, offsets, anchor), by the fact that their piece is owned."""
        effects = self.effects[player]
        result: dict[int, list[tuple[int, tuple[Cell, ...], Cell]]] = {
            int(fact): [] for fact in np.flatnonzero(self.pieces[player])
        }
        for move in np.flatnonzero(self.live[player]):
            covered = [grid[self.square[player][int(fact)]] for fact in np.flatnonzero(effects.adds[move])]
            anchor = min(x for x, _ in covered), min(y for _, y in covered)
            offsets = tuple(sorted((x - anchor[0], y - anchor[1]) for x, y in covered))
            piece = int(np.flatnonzero(effects.removes[move] & self.pieces[player])[0])
            result[piece].append((int(move), offsets, anchor))
        return result

    def _shapes(
        self, placed: list[dict[int, list[tuple[int, tuple[Cell, ...], Cell]]]]
    ) -> tuple[tuple[Shape, ...], list[dict[Term, int]], list[dict[Term, int]]]:
        """Numbers pieces and shapes; both players' pieces of the same look share a number."""
        numbers: dict[Hashable, int] = {}
        anchors: dict[tuple[int, tuple[Cell, ...], int], set[Cell]] = defaultdict(set)
        owned: list[dict[Term, int]] = [{}, {}]
        keyed: list[list[tuple[int, tuple[int, tuple[Cell, ...], int], Cell]]] = [[], []]
        for player in (0, 1):
            alike: Counter[Hashable] = Counter()
            for fact, moves in placed[player].items():
                looks = frozenset(offsets for _, offsets, _ in moves)
                alike[looks] += 1
                piece = numbers.setdefault((looks, alike[looks]), len(numbers))
                owned[player][self.fluents[fact]] = piece
                # Two moves may have the same effect: each gets a shape of its own.
                repeats: Counter[Hashable] = Counter()
                for move, offsets, anchor in moves:
                    repeats[offsets, anchor] += 1
                    key = piece, offsets, repeats[offsets, anchor]
                    anchors[key].add(anchor)
                    keyed[player].append((move, key, anchor))
        if len(numbers) > MAX_PIECES:
            raise NotRecognised(f"{len(numbers)} pieces, more than {MAX_PIECES}")
        # Large shapes first: they matter early, and moves are listed in this order.
        keys = sorted(anchors, key=lambda key: (-len(key[1]), key))
        index = {key: number for number, key in enumerate(keys)}
        shapes = tuple(Shape(key[0], key[1], frozenset(anchors[key])) for key in keys)
        moves_of: list[dict[Term, int]] = []
        for player in (0, 1):
            moves_of.append(
                {
                    self._term(player, move): BOARD_CELLS * index[key] + SIDE * anchor[1] + anchor[0]
                    for move, key, anchor in keyed[player]
                }
            )
        return shapes, owned, moves_of

    def _starts(self, grid: dict[int, Cell], width: int, height: int) -> list[frozenset[Cell]]:
        """Starting cells: uncoverable squares with no coverable square beside them, and only corners around them.

        A false one makes no difference to play.
        """
        coverable = [{grid[square] for square in self.square[player].values()} for player in (0, 1)]
        result = []
        for player in (0, 1):
            effects, obstacles, live = self.effects[player], self.obstacles[player], self.live[player]
            later: Bits = np.any(effects.adds[live & ~obstacles.at_once], axis=0)
            corners = {grid[square] for fact, square in self.square[player].items() if not later[fact]}
            result.append(
                frozenset(
                    (x, y)
                    for x in range(width)
                    for y in range(height)
                    if (x, y) not in coverable[0] | coverable[1]
                    and not any((x + dx, y + dy) in coverable[player] for dx, dy in SIDE_STEPS)
                    and not any((x + dx, y + dy) in coverable[player] - corners for dx, dy in CORNER_STEPS)
                )
            )
        return result


def _closed_neighbours(
    effects: Effects, obstacles: Obstacles, facts: NDArray[np.int64], known: Bits
) -> tuple[Bits, Bits, Bits]:
    """Neighbours common to all moves on a square: by side [known, known], by side or corner [known, known].

    The third result [known] marks the squares for which the second one is meaningful.
    """
    covers = effects.adds[:, facts[known]] & obstacles.live[:, None]
    n = int(known.sum())
    beside, around = np.ones((n, n), np.bool_), np.ones((n, n), np.bool_)
    blocked = obstacles.blocked[:, known]
    touched = blocked | obstacles.enabled[known].T
    # Moves legal in the first position do not show what else enables them.
    telling = covers & ~obstacles.at_once[:, None]
    for index in range(n):
        beside[index] = blocked[covers[:, index]].all(axis=0)
        around[index] = touched[telling[:, index]].all(axis=0)
    shown: Bits = np.any(telling, axis=0)
    return beside, around, shown


RECOGNITION = Recognition("Blokbox", propose, propose_midway, follow)
recognise = RECOGNITION.recognise
