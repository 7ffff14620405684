"""Rulesheets for commands, by name or file: read, checked, and with a machine. Errors show their place."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent.errors import InputError
from agent.logs import printable
from games import rulesheets
from games.gdl.rules.check import CheckedRules, check
from games.gdl.rules.diagnostics import Diagnostic, InvalidRulesError
from games.gdl.rules.surface import has_imperfect_information
from games.machine import StateMachine, Term
from games.roles import are_two_players
from protocol import sheets
from protocol.constants import bare_rules, spellings
from protocol.terms import TextError, TextPosition, decode, position_of

if TYPE_CHECKING:
    from games.gdl.compile import Compilation

_NAMED = re.compile(r"`(?P<name>[^`\s]+)`|nothing binds (?P<variable>\?\S+)")
"""A word of the sheet in a diagnostic's text."""

_LINE_END = re.compile(r"\r\n|\r|\n")

_unseekable: dict[Path, bytes] = {}
"""Contents of pipes, which can be read only once."""

SUFFIXES = (".kif", ".gdl")
"""Suffixes of rulesheets in a folder."""

MAX_SHOWN = 10
"""Most diagnostics printed for one sheet."""


_NOT_TEXT = re.compile(r"[\0-\x08\x0e-\x19\x1b-\x1f]")
"""Control characters that no text has. A page's text field loses some of a picture's, but not all."""


@dataclass(frozen=True)
class Sheet:
    """A valid rulesheet."""

    name: str
    """The file's, as printable text."""
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
        return are_two_players(self.roles) and not self.imperfect

    def warnings(self) -> list[str]:
        """Returns the warnings about the sheet, each with its place."""
        return [_remark(self.path, self.source, diagnostic).text for diagnostic in self.checked.diagnostics]

    def machine(self) -> StateMachine:
        """Returns the circuit of the rules, or the interpreter where they do not compile."""
        from games.gdl.interpreter.machine import Interpreter

        return self.compile().machine or Interpreter(self.checked)

    def compile(self) -> Compilation:
        """Returns the compilation of the rules, finished or failed."""
        # Imported here, as they load Numba.
        from games.gdl.compile import finished_compilation
        from games.native.midway import may_begin_midway

        return finished_compilation(self.checked, freeing=may_begin_midway)


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
    return examine_text(path, content)


def examine_text(path: Path, text: str | bytes) -> tuple[Sheet | None, list[Remark]]:
    """Returns the sheet of this text, None if there are errors, and all remarks on it; `path` is its name in them."""
    source = decode(text)
    if _NOT_TEXT.search(source):
        message = "this is no text in UTF-8; if it is UTF-16, save it as UTF-8"
        return None, [Remark("error", message, None, f"{path}: error: {message}")]
    try:
        written = sheets.read_written(source)
        rulesheet = bare_rules(written)
        checked = check(rulesheet)
    except TextError as error:
        shown = point_out(path, source, error.position, "error", error.message)
        return None, [Remark("error", error.message, error.position, shown)]
    except InvalidRulesError as error:
        return None, [_remark(path, source, diagnostic) for diagnostic in error.diagnostics]
    diagnostics = sorted((*checked.diagnostics, *_two_spellings(written)), key=lambda found: found.path)
    checked = replace(checked, diagnostics=tuple(diagnostics))
    remarks = [_remark(path, source, diagnostic) for diagnostic in checked.diagnostics]
    if any(remark.severity == "error" for remark in remarks):
        return None, remarks
    return Sheet(printable(path.stem), path, source, rulesheet, checked), remarks


def _two_spellings(written: tuple[Term, ...]) -> list[Diagnostic]:
    """Returns warnings about constants with parentheses in one place and without in another."""
    inside, outside = spellings(written)
    return [
        Diagnostic("warning", f"({name}) is read as `{name}`: some engines take them for two", (inside[name],))
        for name in inside
        if name in outside
    ]


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
    # As positions are counted: `splitlines` would end lines at form feeds, too.
    lines = _LINE_END.split(source)
    headline = f"{path}:{position.line}:{position.column}: {severity}: {message}"
    if not 1 <= position.line <= len(lines):
        return headline
    line = lines[position.line - 1]
    # Keep tabs, so that the caret is below its column with any tab width.
    indent = "".join("\t" if character == "\t" else " " for character in line[: position.column - 1])
    return f"{headline}\n    {line}\n    {indent}^"


def _remark(path: Path, source: str, diagnostic: Diagnostic) -> Remark:
    severity, message = diagnostic.severity, printable(diagnostic.message)
    if not diagnostic.path:
        return Remark(severity, message, None, f"{path}: {severity}: {message}")
    position = position_of(source, _offset(source, diagnostic))
    return Remark(severity, message, position, point_out(path, source, position, severity, message))


def _offset(source: str, diagnostic: Diagnostic) -> int:
    """Returns the offset of a diagnostic: of its term, or if it knows only the statement, of the word that it names."""
    named = _NAMED.search(diagnostic.message)
    if len(diagnostic.path) == 1 and named is not None:
        return sheets.find_word(source, diagnostic.path, named["name"] or named["variable"])
    return sheets.span(source, diagnostic.path)[0]
