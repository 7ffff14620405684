"""Rulesheets by name or file, for the commands: read, checked, and given a machine; errors that show the place."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent.errors import InputError
from games import rulesheets
from games.gdl.rules.check import CheckedRules, check
from games.gdl.rules.diagnostics import Diagnostic, InvalidRulesError
from games.machine import LimitError, StateMachine, Term
from protocol import kif
from protocol.terms import TextError, TextPosition, decode, position_of

_NAMED = re.compile(r"`(?P<name>[^`\s]+)`|nothing binds (?P<variable>\?\S+)")
"""How diagnostics name a word of the sheet."""

MAX_SHOWN = 10
"""Diagnostics printed for one sheet; the first few tell the story."""


@dataclass(frozen=True)
class Sheet:
    """A rulesheet that has a meaning."""

    name: str
    path: Path
    source: str
    rulesheet: tuple[Term, ...]
    checked: CheckedRules

    @property
    def roles(self) -> tuple[Term, ...]:
        """The roles, in the order of joint moves."""
        return self.checked.roles

    def warnings(self) -> list[str]:
        """What is odd about the sheet, each with its place."""
        return [_remark(self.path, self.source, diagnostic).text for diagnostic in self.checked.diagnostics]

    def machine(self) -> StateMachine:
        """The sheet's rules as a machine: the circuit, or the interpreter where it does not ground in bounds."""
        # Imported here: they load Numba's kernels, and most commands that read a sheet do so for the first time.
        from games.gdl.compile import compile_rules
        from games.gdl.interpreter.machine import Interpreter

        try:
            return compile_rules(self.checked)
        except LimitError:
            return Interpreter(self.checked)


def load(game: str) -> Sheet:
    """The sheet that `game` means: an own rulesheet's name, or a file. Raises `InputError`."""
    path = find(game)
    sheet, remarks = examine(path)
    if sheet is None:
        errors = [remark.text for remark in remarks if remark.severity == "error"]
        if len(errors) > MAX_SHOWN:
            errors[MAX_SHOWN:] = [f"... and {len(errors) - MAX_SHOWN} more"]
        raise InputError("\n".join(errors))
    return sheet


@dataclass(frozen=True)
class Remark:
    """Something that is wrong, or odd, about a sheet."""

    severity: Literal["error", "warning"]
    message: str
    position: TextPosition | None
    """None where it is about the sheet as a whole."""
    text: str
    """As compilers show it: with file, line, column and a caret."""


def examine(path: Path) -> tuple[Sheet | None, list[Remark]]:
    """The sheet in a file, None where it has no meaning, and all that is wrong or odd about it.

    Raises `InputError` where the file cannot be read.
    """
    try:
        source = decode(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    try:
        rulesheet = kif.read_rulesheet(source)
        checked = check(rulesheet)
    except TextError as error:
        text = point_out(path, source, error.position, "error", error.message)
        return None, [Remark("error", error.message, error.position, text)]
    except InvalidRulesError as error:
        return None, [_remark(path, source, diagnostic) for diagnostic in error.diagnostics]
    return Sheet(path.stem, path, source, rulesheet, checked), [
        _remark(path, source, diagnostic) for diagnostic in checked.diagnostics
    ]


def find(game: str) -> Path:
    """The file (or folder) that `game` means: an own rulesheet's name, or a path. Raises `InputError` for neither."""
    names = rulesheets.names()
    path = rulesheets.path(game) if game in names else Path(game)
    if not path.exists():
        close = difflib.get_close_matches(game, names, 1)
        guess = f"; did you mean {close[0]}?" if close else ""
        raise InputError(f"{game}: no such file, and no rulesheet of that name (there are: {', '.join(names)}){guess}")
    return path


def point_out(path: Path, source: str, position: TextPosition, severity: str, message: str) -> str:
    """A problem as compilers show it: where, what, the line, and a caret under the column."""
    lines = source.splitlines()
    headline = f"{path}:{position.line}:{position.column}: {severity}: {message}"
    if not 1 <= position.line <= len(lines):
        return headline
    line = lines[position.line - 1]
    # Tabs stay tabs, so that the caret stands below its column whatever their width.
    indent = "".join("\t" if character == "\t" else " " for character in line[: position.column - 1])
    return f"{headline}\n    {line}\n    {indent}^"


def _remark(path: Path, source: str, diagnostic: Diagnostic) -> Remark:
    severity, message = diagnostic.severity, diagnostic.message
    if not diagnostic.path:
        return Remark(severity, message, None, f"{path}: {severity}: {message}")
    position = position_of(source, _offset(source, diagnostic))
    return Remark(severity, message, position, point_out(path, source, position, severity, message))


def _offset(source: str, diagnostic: Diagnostic) -> int:
    """What a diagnostic is about; where it knows only the statement, the word in it that it names first."""
    start, end = kif.span(source, diagnostic.path)
    named = _NAMED.search(diagnostic.message)
    if len(diagnostic.path) == 1 and named is not None:
        word = re.escape(named["name"] or named["variable"])
        # Not in comments, which may well mention it.
        for found in re.finditer(rf";[^\n\r]*|(?<![^\s()]){word}(?![^\s();])", source[start:end]):
            if found[0][0] != ";":
                return start + found.start()
    return start
