"""Rulesheets by name or file, for the commands: read, checked, and given a machine; errors that show the place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agent.errors import InputError
from games import rulesheets
from games.gdl.rules.check import CheckedRules, check
from games.gdl.rules.diagnostics import Diagnostic, InvalidRulesError
from games.machine import LimitError, StateMachine, Term
from protocol import kif
from protocol.terms import TextError, TextPosition, decode

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
        return [_describe(self.path, self.source, diagnostic) for diagnostic in self.checked.diagnostics]

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
    try:
        source = decode(path.read_bytes())
    except OSError as error:
        raise InputError(f"{game}: {error.strerror}") from None
    try:
        rulesheet = kif.read_rulesheet(source)
        checked = check(rulesheet)
    except TextError as error:
        raise InputError(point_out(path, source, error.position, "error", error.message)) from None
    except InvalidRulesError as error:
        errors = [diagnostic for diagnostic in error.diagnostics if diagnostic.severity == "error"]
        shown = [_describe(path, source, diagnostic) for diagnostic in errors[:MAX_SHOWN]]
        if len(errors) > MAX_SHOWN:
            shown.append(f"... and {len(errors) - MAX_SHOWN} more")
        raise InputError("\n".join(shown)) from None
    return Sheet(path.stem, path, source, rulesheet, checked)


def find(game: str) -> Path:
    """The file (or folder) that `game` means: an own rulesheet's name, or a path. Raises `InputError` for neither."""
    names = rulesheets.names()
    path = rulesheets.path(game) if game in names else Path(game)
    if not path.exists():
        raise InputError(f"{game}: no such file, and no rulesheet of that name (there are: {', '.join(names)})")
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


def _describe(path: Path, source: str, diagnostic: Diagnostic) -> str:
    if not diagnostic.path:
        return f"{path}: {diagnostic.severity}: {diagnostic.message}"
    position = kif.locate(source, diagnostic.path)
    return point_out(path, source, position, diagnostic.severity, diagnostic.message)
