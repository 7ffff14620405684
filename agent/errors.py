"""Errors of commands."""

from __future__ import annotations


class CommandError(Exception):
    """A command cannot be carried out; the text is for its user.

    CommandError
    ├── InputError          the input makes no sense (a file, a rulesheet, an option)
    └── PlayerStartError    a built-in player did not start
    """


def first_line(error: Exception) -> str:
    """Returns the first line of an error's text, or the name of its class if it has none."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


class InputError(CommandError):
    """The input of a command makes no sense."""


class PlayerStartError(CommandError):
    """A built-in player did not start."""
