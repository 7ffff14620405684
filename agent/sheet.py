"""Rulesheets for commands, by name or file: read, checked, and with a machine. Errors show their place."""

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
from games.gdl.rules.surface import has_imperfect_information
from games.machine import LimitError, StateMachine, Term
from games.roles import is_random_role
from protocol import kif
from protocol.terms import TextError, TextPosition, decode, position_of

_NAMED = re.compile(r"`(?P<name>[^`\s]+)`|nothing binds (?P<variable>\?\S+)")
"""A word of the sheet in a diagnostic's text."""

_unseekable: dict[Path, bytes] = {}
"""Contents of pipes, which can be read only once."""

MAX_SHOWN = 10
"""Most diagnostics printed for one sheet."""


@dataclass(frozen=True)
class Sheet:
    """A valid rulesheet."""

    name: str
    path: Path
    source: str
    rulesheet: tuple[Term, ...]
    checked: CheckedRules

    @property
    def roles(self) -> tuple[Term, ...]:
        """Roles in the order of joint moves."""
        return self.checked.roles

    @property
    def imperfect(self) -> bool:
        """Whether it is a game of imperfect information (GDL-II)."""
        return has_imperfect_information(self.rulesheet)

    @property
    def for_two(self) -> bool:
        """Whether it is a game of two players, without chance and with perfect information."""
        return len(self.roles) == 2 and not any(map(is_random_role, self.roles)) and not self.imperfect

    def warnings(self) -> list[str]:
        """Returns the warnings about the sheet, each with its place."""
        return [_remark(self.path, self.source, diagnostic).text for diagnostic in self.checked.diagnostics]

    def machine(self) -> StateMachine:
        """Returns the circuit of the rules, or the interpreter where grounding exceeds its limits."""
        # Imported here, as they load Numba.
        from games.gdl.compile import compile_rules
        from games.gdl.interpreter.machine import Interpreter
        from games.native.midway import may_begin_midway

        try:
            return compile_rules(self.checked, freeing=may_begin_midway)
        except LimitError:
            return Interpreter(self.checked)


def load(game: str) -> Sheet:
    """Reads the sheet `game`: a rulesheet's name, or a file. Raises `InputError`."""
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
    """An error of a sheet, or a warning about it."""

    severity: Literal["error", "warning"]
    message: str
    position: TextPosition | None
    """None for the sheet as a whole."""
    text: str
    """The remark as a compiler shows it: with file, line, column and a caret."""


def examine(path: Path) -> tuple[Sheet | None, list[Remark]]:
    """Returns the sheet in a file, None if there are errors, and all remarks on it.

    Raises `InputError` where the file cannot be read.
    """
    try:
        content = _read(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if b"\0" in content:
        message = "no UTF-8 text, perhaps UTF-16: save it as UTF-8"
        return None, [Remark("error", message, None, f"{path}: error: {message}")]
    return examine_text(path, decode(content))


def examine_text(path: Path, source: str) -> tuple[Sheet | None, list[Remark]]:
    """Returns the sheet of this text, None if there are errors, and all remarks on it; `path` is its name in them."""
    try:
        rulesheet = kif.read_rulesheet(source)
        checked = check(rulesheet)
    except TextError as error:
        text = point_out(path, source, error.position, "error", error.message)
        return None, [Remark("error", error.message, error.position, text)]
    except InvalidRulesError as error:
        return None, [_remark(path, source, diagnostic) for diagnostic in error.diagnostics]
    remarks = [_remark(path, source, diagnostic) for diagnostic in checked.diagnostics]
    if any(remark.severity == "error" for remark in remarks):
        return None, remarks
    return Sheet(path.stem, path, source, rulesheet, checked), remarks


def _read(path: Path) -> bytes:
    """Returns a file's content. Raises `OSError`."""
    content = _unseekable.get(path)
    if content is None:
        content = path.read_bytes()
        if not path.is_file():
            _unseekable[path] = content
    return content


def find(game: str) -> Path:
    """Returns the file (or folder) of `game`: a rulesheet's name, or a path. Raises `InputError` for neither."""
    names = rulesheets.names()
    path = rulesheets.path(game) if game in names else Path(game)
    if not path.exists():
        close = difflib.get_close_matches(game, names, 1)
        guess = f"; did you mean {close[0]}?" if close else ""
        raise InputError(f"{game}: no such file, and no rulesheet of that name (there are: {', '.join(names)}){guess}")
    return path


def point_out(path: Path, source: str, position: TextPosition, severity: str, message: str) -> str:
    """Formats a problem as compilers do: place, message, the line, and a caret under the column."""
    lines = source.splitlines()
    headline = f"{path}:{position.line}:{position.column}: {severity}: {message}"
    if not 1 <= position.line <= len(lines):
        return headline
    line = lines[position.line - 1]
    # Keep tabs, so that the caret is below its column with any tab width.
    indent = "".join("\t" if character == "\t" else " " for character in line[: position.column - 1])
    return f"{headline}\n    {line}\n    {indent}^"


def _remark(path: Path, source: str, diagnostic: Diagnostic) -> Remark:
    severity, message = diagnostic.severity, diagnostic.message
    if not diagnostic.path:
        return Remark(severity, message, None, f"{path}: {severity}: {message}")
    position = position_of(source, _offset(source, diagnostic))
    return Remark(severity, message, position, point_out(path, source, position, severity, message))


def _offset(source: str, diagnostic: Diagnostic) -> int:
    """Returns the offset of a diagnostic: of its term, or if it knows only the statement, of the word that it names."""
    start, end = kif.span(source, diagnostic.path)
    named = _NAMED.search(diagnostic.message)
    if len(diagnostic.path) == 1 and named is not None:
        word = re.escape(named["name"] or named["variable"])
        # Skip comments, which may contain the word.
        for found in re.finditer(rf";[^\n\r]*|(?<![^\s()]){word}(?![^\s();])", source[start:end]):
            if found[0][0] != ";":
                return start + found.start()
    return start
