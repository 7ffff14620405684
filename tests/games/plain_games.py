"""Games of our own rulesheets once more, as plain Python written from descriptions of the games.

A position is what `moves` and `after` of the game understand; moves are spelled as in the sheet. `result` is None while
the game goes on, otherwise the goals of the roles.
"""

from __future__ import annotations

from itertools import product
from typing import Any

Move = tuple[str, ...]
Square = tuple[int, int]

EIGHT = [(dx, dy) for dx, dy in product((-1, 0, 1), repeat=2) if dx or dy]


def spelled(word: str, *numbers: int) -> Move:
    """A move as a term."""
    return (word, *map(str, numbers))


class PlainGame:
    """A game in which players take turns."""

    start: Any

    def turn(self, position: Any) -> int:
        """The role on turn."""
        turn: int = position[0]
        return turn

    def moves(self, position: Any) -> list[Move]:
        """The moves of the role on turn."""
        raise NotImplementedError

    def after(self, position: Any, move: Move) -> Any:
        """The position after a move."""
        raise NotImplementedError

    def result(self, position: Any) -> list[int] | None:
        """Whoever cannot move loses, unless a game says otherwise."""
        if self.moves(position):
            return None
        return [0, 100] if self.turn(position) == 0 else [100, 0]


class Draughts(PlainGame):
    """A position: the role on turn, pieces by square as (role, is a king), the square that jumps on, quiet moves."""

    def __init__(self) -> None:
        dark = [(x, y) for x in range(1, 9) for y in range(1, 9) if (x + y) % 2 == 0]
        men = {square: (0, False) for square in dark if square[1] <= 3}
        self.start = (0, men | {square: (1, False) for square in dark if square[1] >= 6}, None, 0)

    def _reaches(self, board: dict[Square, tuple[int, bool]], square: Square) -> tuple[list[Square], list[Square]]:
        """Squares that a piece can step to, and those that it can jump to."""
        role, king = board[square]
        steps, jumps = [], []
        for dx, dy in product((-1, 1), (-1, 1) if king else (1 - 2 * role,)):
            near, far = ((square[0] + i * dx, square[1] + i * dy) for i in (1, 2))
            if min(near) < 1 or max(near) > 8:
                continue
            if near not in board:
                steps.append(near)
            elif board[near][0] != role and min(far) >= 1 and max(far) <= 8 and far not in board:
                jumps.append(far)
        return steps, jumps

    def moves(self, position: Any) -> list[Move]:
        turn, board, jumping, _ = position
        own = [jumping] if jumping else [square for square, (role, _) in board.items() if role == turn]
        jumps = [spelled("jump", *a, *b) for a in own for b in self._reaches(board, a)[1]]
        return jumps or [spelled("move", *a, *b) for a in own for b in self._reaches(board, a)[0]]

    def after(self, position: Any, move: Move) -> Any:
        turn, board, _, quiet = position
        x1, y1, x2, y2 = map(int, move[1:])
        board = dict(board)
        _, king = board.pop((x1, y1))
        crowned = not king and y2 == (8, 1)[turn]
        board[x2, y2] = (turn, king or crowned)
        quiet = quiet + 1 if king and move[0] == "move" else 0
        if move[0] == "jump":
            del board[(x1 + x2) // 2, (y1 + y2) // 2]
            if not crowned and self._reaches(board, (x2, y2))[1]:
                return turn, board, (x2, y2), quiet
        return 1 - turn, board, None, quiet

    def result(self, position: Any) -> list[int] | None:
        return super().result(position) or ([50, 50] if position[3] == 40 else None)


class Amazons(PlainGame):
    """A position: the role on turn, contents by square (a role, or 2 for an arrow), the amazon that shoots."""

    start = (0, {(2, 1): 0, (5, 1): 0, (2, 6): 1, (5, 6): 1}, None)

    def moves(self, position: Any) -> list[Move]:
        turn, board, armed = position
        found = []
        for square in [armed] if armed else [square for square, what in board.items() if what == turn]:
            for dx, dy in EIGHT:
                x, y = square[0] + dx, square[1] + dy
                while 1 <= x <= 6 and 1 <= y <= 6 and (x, y) not in board:
                    found.append(spelled("shoot" if armed else "move", *square, x, y))
                    x, y = x + dx, y + dy
        return found

    def after(self, position: Any, move: Move) -> Any:
        turn, board, armed = position
        x1, y1, x2, y2 = map(int, move[1:])
        if armed:
            return 1 - turn, board | {(x2, y2): 2}, None
        left = {square: what for square, what in board.items() if square != (x1, y1)}
        return turn, left | {(x2, y2): turn}, (x2, y2)


class Clobber(PlainGame):
    """A position: the role on turn, and roles by square."""

    start = (0, {(x, y): (x + y) % 2 for x in range(1, 6) for y in range(1, 7)})

    def moves(self, position: Any) -> list[Move]:
        turn, board = position
        return [
            spelled("move", x, y, x + dx, y + dy)
            for (x, y), role in board.items()
            for dx, dy in ((0, 1), (1, 0), (0, -1), (-1, 0))
            if role == turn and board.get((x + dx, y + dy)) == 1 - turn
        ]

    def after(self, position: Any, move: Move) -> Any:
        turn, board = position
        x1, y1, x2, y2 = map(int, move[1:])
        return 1 - turn, {square: role for square, role in board.items() if square != (x1, y1)} | {(x2, y2): turn}


class Kalaha(PlainGame):
    """A position: the role on turn, and the stones of each role's pits, the store last."""

    start = (0, ((4,) * 6 + (0,), (4,) * 6 + (0,)))

    def moves(self, position: Any) -> list[Move]:
        turn, stones = position
        return [spelled("sow", pit + 1) for pit in range(6) if stones[turn][pit]]

    def after(self, position: Any, move: Move) -> Any:
        turn, stones = position
        # The player's pits and store, then the opponent's pits: a ring of 13.
        ring = [*stones[turn], *stones[1 - turn][:6]]
        at = int(move[1]) - 1
        hand, ring[at] = ring[at], 0
        while hand:
            at = (at + 1) % 13
            ring[at] += 1
            hand -= 1
        if at < 6 and ring[at] == 1 and ring[12 - at]:
            ring[6] += 1 + ring[12 - at]
            ring[at] = ring[12 - at] = 0
        sides = tuple(ring[:7]), (*ring[7:], stones[1 - turn][6])
        return (turn if at == 6 else 1 - turn), (sides if turn == 0 else sides[::-1])

    def result(self, position: Any) -> list[int] | None:
        sides = position[1]
        if max(side[6] for side in sides) <= 24 and all(any(side[:6]) for side in sides):
            return None
        south, north = map(sum, sides)
        if max(side[6] for side in sides) > 24:
            south, north = sides[0][6], sides[1][6]
        return [50, 50] if south == north else [100 * (south > north), 100 * (north > south)]


LINES = {
    "queen": EIGHT,
    "rook": [step for step in EIGHT if 0 in step],
    "bishop": [step for step in EIGHT if 0 not in step],
}
LEAPS = {"king": EIGHT, "knight": [step for step in product((-2, -1, 1, 2), repeat=2) if abs(sum(step)) in (1, 3)]}


class SmallChess(PlainGame):
    """A position: the role on turn, pieces by square as (role, letter), quiet moves.

    A move is legal if nobody could take the king afterwards.
    """

    def __init__(self) -> None:
        order = enumerate(("rook", "knight", "bishop", "queen", "king"), 1)
        board = {}
        for x, piece in order:
            board |= {(x, 1): (0, piece), (x, 5): (1, piece), (x, 2): (0, "pawn"), (x, 4): (1, "pawn")}
        self.start = (0, board, 0)

    def _targets(self, board: dict[Square, tuple[int, str]], square: Square) -> list[Square]:
        (x, y), (role, piece) = square, board[square]
        found = [(x + dx, y + dy) for dx, dy in LEAPS.get(piece, ())]
        for dx, dy in LINES.get(piece, ()):
            for far in range(1, 5):
                found.append((x + far * dx, y + far * dy))
                if found[-1] in board:
                    break
        if piece == "pawn":
            ahead = y + 1 - 2 * role
            found = [(x + dx, ahead) for dx in (-1, 1) if (x + dx, ahead) in board]
            found += [(x, ahead)] if (x, ahead) not in board else []
        return [to for to in found if min(to) >= 1 and max(to) <= 5 and board.get(to, (None,))[0] != role]

    def _in_check(self, board: dict[Square, tuple[int, str]], role: int) -> bool:
        return any(
            board.get(to) == (role, "king")
            for square, (other, _) in board.items()
            if other != role
            for to in self._targets(board, square)
        )

    def moves(self, position: Any) -> list[Move]:
        turn, board, _ = position
        return [
            move
            for square, (role, _) in board.items()
            if role == turn
            for to in self._targets(board, square)
            if not self._in_check(self.after(position, move := spelled("move", *square, *to))[1], turn)
        ]

    def after(self, position: Any, move: Move) -> Any:
        turn, board, quiet = position
        x1, y1, x2, y2 = map(int, move[1:])
        _, piece = board[x1, y1]
        quiet = 0 if piece == "pawn" or (x2, y2) in board else quiet + 1
        board = {square: what for square, what in board.items() if square != (x1, y1)}
        board[x2, y2] = (turn, "queen" if piece == "pawn" and y2 == (5, 1)[turn] else piece)
        return 1 - turn, board, quiet

    def result(self, position: Any) -> list[int] | None:
        turn, board, quiet = position
        if not self.moves(position) and self._in_check(board, turn):
            return super().result(position)
        return [50, 50] if quiet == 40 or not self.moves(position) else None


class SinkingIsland(PlainGame):
    """A position: the role on turn, the square of each role, squares under water, roles that are out, first first."""

    start = (0, ((1, 1), (6, 2), (3, 6)), frozenset(), ())

    def moves(self, position: Any) -> list[Move]:
        turn, places, water, _ = position
        x, y = places[turn]
        near = [(x + dx, y + dy) for dx, dy in EIGHT]
        free = [to for to in near if min(to) >= 1 and max(to) <= 6 and to not in water and to not in places]
        return [spelled("walk", x, y, *to) for to in free] or [("stay",)]

    def after(self, position: Any, move: Move) -> Any:
        turn, places, water, out = position
        if move[0] == "stay":
            out = (*out, turn)
        else:
            x1, y1, x2, y2 = map(int, move[1:])
            places = tuple((x2, y2) if place == (x1, y1) else place for place in places)
            water |= {(x1, y1)}
        following = next((turn + i) % 3 for i in (1, 2, 3) if (turn + i) % 3 not in out)
        return following, places, water, out

    def result(self, position: Any) -> list[int] | None:
        out = position[3]
        if len(out) < 2:
            return None
        return [0 if role == out[0] else 50 if role == out[1] else 100 for role in range(3)]
