"""A person who plays in the terminal, with a numbered list of legal moves."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Sequence

from agent.record.thinking import Thinking
from agent.refereeing.local_player import LocalPlayer
from games.machine import State, StateMachine, Term
from protocol.kif import write

MOST_SHOWN = 60
"""Most moves listed at once; of more, the person can type a part of the move."""

HELP = """  a number       plays that move
  a whole move   plays it: (mark 1 2), or mark 1 2
  part of one    shows only the moves that contain it; several parts: in a row, or else all of them
  Enter          shows all moves again, or plays the only one that is left
  f              shows the facts of the position
  Ctrl-D         ends the match"""


class PersonAtTerminal(LocalPlayer):
    """Asks a person at a keyboard. An only move is made without asking."""

    timed = False
    person = True

    def __init__(
        self,
        machine: StateMachine,
        role: int,
        keyboard: Keyboard,
        known: Callable[[], Collection[Term]],
        *,
        seconds: float | None = None,
        hint: Callable[[State], Awaitable[Thinking]] | None = None,
        say: Callable[[str], None] = lambda text: print(text, flush=True),
    ) -> None:
        """`known` gives the facts that the role knows; `seconds` is the clock for each move, None: none; `hint` finds a
        good move in a state, and may raise.

        Persons of one match share a keyboard, and are asked one after the other.
        """
        self._machine = machine
        self._role = role
        self._keyboard = keyboard
        self._known = known
        self._seconds = seconds
        self._hint = hint
        self._say = say

    async def choose(self, legal: Sequence[Term], state: State) -> Term:
        """Returns the person's move. Raises `TimeoutError` when the time is over."""
        if len(legal) == 1:
            return legal[0]
        async with self._keyboard.lock, asyncio.timeout(self._seconds):
            return await self._ask(legal, state)

    async def _ask(self, legal: Sequence[Term], state: State) -> Term:
        numbers = dict(enumerate(legal, 1))
        shown = dict(numbers)
        within = f", within {self._seconds:g} s" if self._seconds is not None else ""
        others = "part of a move, h for a hint, or ? for help" if self._hint else "part of a move, or ? for help"
        self._say(f"your move as {write(self._machine.roles[self._role])}{within}: type a number, {others}")
        self._say(list_moves(shown))
        while True:
            typed = await self._keyboard.line()
            if typed is None:
                # Ctrl-D means the same as Ctrl-C: the match is aborted.
                signal.raise_signal(signal.SIGINT)
                await asyncio.Event().wait()
                raise AssertionError
            words = typed.split()
            if typed == "?":
                self._say(HELP + ("\n  h              shows what the agent would play" if self._hint else ""))
            elif typed == "h" and self._hint is not None:
                await self._show_hint(self._hint, legal, state)
            elif typed == "f":
                self._say("  " + "\n  ".join(sorted(map(write, self._known()))))
            elif typed.isdecimal() and int(typed) in numbers:
                return numbers[int(typed)]
            elif not words:
                if len(shown) == 1:
                    return next(iter(shown.values()))
                shown = dict(numbers)
                self._say(list_moves(shown))
            else:
                move = find_move(typed, legal)
                if move is not None:
                    return move
                fewer = _with_parts(numbers, [" ".join(words)]) or _with_parts(numbers, words)
                if fewer:
                    shown = fewer
                    self._say(list_moves(shown))
                else:
                    self._say(f"  no legal move has {typed!r} in it; Enter shows them all")

    async def _show_hint(
        self, hint: Callable[[State], Awaitable[Thinking]], legal: Sequence[Term], state: State
    ) -> None:
        self._say("  thinking ...")
        try:
            found = (await hint(state)).opinion
        except Exception as error:
            self._say(f"  {error}")
        else:
            assert found is not None
            value = "" if found.score is None else f", which is worth {found.score.goal:.0f}"
            self._say(f"  {legal.index(found.move) + 1}: {write(found.move)}{value}")


def find_move(typed: str, legal: Sequence[Term]) -> Term | None:
    """Returns the move spelled so, with or without its parentheses; letter case counts only between otherwise equal
    moves."""
    wanted = _words(typed)
    same = [move for move in legal if _words(write(move)) == wanted]
    if not same:
        same = [move for move in legal if [w.lower() for w in _words(write(move))] == [w.lower() for w in wanted]]
    return same[0] if len(same) == 1 else None


def list_moves(moves: dict[int, Term]) -> str:
    """Lists numbered moves in groups that share their first arguments, one group per line."""
    some = dict(list(moves.items())[:MOST_SHOWN])
    groups: dict[str, list[str]] = defaultdict(list)
    common = _common_arguments([move for move in some.values() if isinstance(move, tuple)])
    for number, move in some.items():
        if isinstance(move, tuple) and len(move) > 1:
            shared = min(common, len(move) - 1)
            title, rest = " ".join(map(write, move[:shared])), " ".join(map(write, move[shared:]))
            groups[title].append(f"{number}: {rest}")
        else:
            groups[""].append(f"{number}: {write(move)}")
    width = max(map(len, groups))
    cell = max(len(entry) for entries in groups.values() for entry in entries)
    lines = [
        f"  {title:{width}}  " + "  ".join(f"{entry:{cell}}" for entry in entries).rstrip()
        for title, entries in groups.items()
    ]
    if len(moves) > len(some):
        lines.append(f"  ... and {len(moves) - len(some)} more: type a part of a move to see fewer")
    return "\n".join(lines)


def _common_arguments(moves: Sequence[tuple[Term, ...]]) -> int:
    """Returns the number of leading parts of moves that gives few groups of few moves."""
    longest = max(map(len, moves), default=1)

    def cost(shared: int) -> tuple[int, int]:
        sizes: dict[tuple[Term, ...], int] = defaultdict(int)
        for move in moves:
            sizes[move[: min(shared, len(move) - 1)]] += 1
        return max(len(sizes), max(sizes.values(), default=0)), -shared

    return min(range(1, max(2, longest)), key=cost)


def _with_parts(moves: dict[int, Term], parts: Sequence[str]) -> dict[int, Term]:
    return {
        number: move for number, move in moves.items() if all(part.lower() in write(move).lower() for part in parts)
    }


def _words(text: str) -> list[str]:
    return text.replace("(", " ").replace(")", " ").split()


class Keyboard:
    """Lines from standard input, or another file descriptor, without blocking the event loop."""

    def __init__(self, descriptor: int | None = None, prompt: str = "> ") -> None:
        self.lock = asyncio.Lock()
        """Held by the person who is asked."""
        self._descriptor = sys.stdin.fileno() if descriptor is None else descriptor
        self._prompt = prompt
        self._typed = b""
        self._ended = False

    async def line(self) -> str | None:
        """Returns the next line, stripped; None at the end of the input."""
        if self._prompt:
            print(self._prompt, end="", flush=True)
        while b"\n" not in self._typed and not self._ended:
            more = await self._read()
            self._typed += more
            self._ended = not more
        line, _, self._typed = self._typed.partition(b"\n")
        if self._ended and not line:
            return None
        return line.decode(errors="replace").strip()

    async def _read(self) -> bytes:
        """Reads more input, none at the end. Unlike a thread that reads, this can be cancelled."""
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        try:
            loop.add_reader(self._descriptor, ready.set)
        except OSError:
            # Plain files are always ready.
            return os.read(self._descriptor, 4096)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._descriptor)
        return os.read(self._descriptor, 4096)
