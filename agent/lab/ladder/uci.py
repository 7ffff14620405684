"""Engines that speak UCI, the Universal Chess Interface, such as Fairy-Stockfish.

Legal moves are those of `go perft 1`, which Stockfish and its relatives know.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from agent.errors import CommandError, InputError
from agent.lab.ladder.outside import OutsideEngine
from games.child_process import end_with_parent
from games.machine import Term
from protocol.kif import write

_DIVIDED = re.compile(r"(\S+): \d+")
_OPTION = re.compile(r"option name (.+?) type ")
_MATE = re.compile(r" score mate (-?\d+)")


SILENT_SECONDS = 300.0
"""Seconds without a line after which an engine is given up; in a deep search minutes pass between two."""


class UciEngine(OutsideEngine):
    """One process of an engine."""

    def __init__(self, command: Sequence[str], options: Mapping[str, str]) -> None:
        """Starts it and sets its options, in their order. Raises `CommandError`."""
        if not command:
            raise InputError("no engine: name a command")
        self.name = Path(command[0]).name
        self._unread = b""
        # Whatever ends this process, also in this moment, ends the engine.
        line, self._line = os.pipe()
        try:
            # In a session of its own, so that Ctrl-C ends the series first.
            self._process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=(line,),
                start_new_session=True,
            )
            end_with_parent(line, signal.SIGKILL, -self._process.pid)
        except OSError as error:
            os.close(self._line)
            raise InputError(f"{command[0]}: {error.strerror}") from None
        finally:
            os.close(line)
        try:
            self._set(options)
        except BaseException:
            self.close()
            raise

    def _set(self, options: Mapping[str, str]) -> None:
        known = [found[1] for line in self._ask("uciok", "uci") if (found := _OPTION.match(line))]
        if unknown := [name for name in options if name not in known]:
            raise InputError(f"{self.name} has no option {unknown[0]}; it has: {', '.join(known)}")
        self._ask("readyok", *(f"setoption name {name} value {value}" for name, value in options.items()), "isready")

    def spell(self, role: str, move: Term) -> str | None:
        """Returns `a2a3` for `(move 1 2 1 3)` and `(move a 2 a 3)`, and None for a word as `noop`.

        Raises `InputError` for any other form: a subclass spells those.
        """
        if isinstance(move, str):
            return None
        cells = [cell for cell in move[1:] if isinstance(cell, str)]
        if len(cells) != 4 or len(move) != 5:
            raise InputError(f"{write(move)}: not from a file and a rank to another; spell it in a Python file")
        return self.square(*cells[:2]) + self.square(*cells[2:])

    def square(self, file: str, rank: str) -> str:
        """Returns the engine's name of a cell."""
        return (chr(ord("a") - 1 + int(file)) if file.isdecimal() else file) + rank

    def legal(self, line: Sequence[str]) -> Collection[str]:
        answer = self._ask("Nodes searched", _position(line), "go perft 1")
        return [found[1] for text in answer if (found := _DIVIDED.fullmatch(text))]

    def choose(self, line: Sequence[str], rung: int | None) -> str:
        if rung is None:
            raise InputError(f"{self.name} needs a limit")
        limit = "movetime" if self.unit == "ms" else "nodes"
        seconds = rung / 1000 if self.unit == "ms" else 0.0
        answer = self._ask("bestmove", _position(line), f"go {limit} {rung}", seconds=seconds)[-1]
        return "".join(answer.split()[1:2])

    def is_pass(self, move: str) -> bool:
        return move[: len(move) // 2] == move[len(move) // 2 :]

    def result(self, line: Sequence[str]) -> float | None:
        answer = self._ask("bestmove", _position(line[:-1]), f"go depth 1 searchmoves {line[-1]}")
        mates = [int(found[1]) for text in answer if (found := _MATE.search(text))]
        # A lost game is `mate 0` to some engines.
        return 0.5 if not mates else float(mates[-1] > 0)

    def new_game(self) -> None:
        self._ask("readyok", "ucinewgame", "isready")

    def close(self) -> None:
        # It has nothing to save, and may be thinking.
        if self._process.returncode is None:
            # It may be a script that has started the engine.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            os.close(self._line)
        with contextlib.suppress(BrokenPipeError), self._process:
            pass

    def _ask(self, last: str, *commands: str, seconds: float = 0.0) -> list[str]:
        """Returns the lines of an answer, which takes so many seconds or nothing; `last` begins the last one.

        Raises `CommandError` where the engine ends, says nothing more, or begins to play instead.
        """
        assert self._process.stdin is not None
        lines: list[str] = []
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write("".join(f"{command}\n" for command in commands).encode())
            for text in self._lines(SILENT_SECONDS + seconds):
                lines.append(text.strip("\0 \t\r\n"))
                if lines[-1].startswith(last):
                    return lines
                if lines[-1].startswith("bestmove"):
                    raise CommandError(f"{self.name} does not know `{commands[-1]}`, and answers `{lines[-1]}`")
        raise CommandError(f"{self.name} has ended, after `{commands[-1]}`")

    def _lines(self, seconds: float) -> Iterator[str]:
        """Yields lines until the engine ends. Raises `CommandError` where one takes longer than so many seconds."""
        assert self._process.stdout is not None
        while True:
            line, found, rest = self._unread.partition(b"\n")
            if found:
                self._unread = rest
                # Names of authors and of files have other encodings.
                yield line.decode(errors="surrogateescape")
                continue
            if not select.select([self._process.stdout], [], [], seconds)[0]:
                raise CommandError(f"{self.name} has said nothing for {seconds:g} s")
            read = os.read(self._process.stdout.fileno(), 1 << 16)
            if not read:
                return
            self._unread += read


def _position(line: Sequence[str]) -> str:
    return " ".join(["position startpos", *(["moves", *line] if line else [])])
